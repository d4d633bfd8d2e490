import numpy as np
import torch


def train(model, loader, optimizer):
    for x, labels in loader:
        out = model(x)
        rows = torch.nonzero(labels)
        loss = out[rows].mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        chosen = np.nonzero(np.arange(4))
        if len(chosen) > 0:
            continue
