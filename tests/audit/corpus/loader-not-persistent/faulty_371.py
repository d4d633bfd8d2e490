"""A loader that the loop over epochs makes itself."""

import torch
from torch.utils.data import DataLoader


def train(model, optimizer, rows, epochs):
    for epoch in range(epochs):
        loader = DataLoader(rows, batch_size=64, shuffle=True, num_workers=2)  # expect: loader-not-persistent@note
        for x, y in loader:
            loss = torch.nn.functional.mse_loss(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
