import numpy as np
import torch


def train(model, loader, optimizer):
    for x, labels in loader:
        out = model(x)
        rows = torch.nonzero(out > 0)
        loss = out[rows].mean() + out[torch.nonzero(out < 0)].sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        chosen = np.nonzero(np.arange(4))
        if len(chosen) > 0:
            continue
