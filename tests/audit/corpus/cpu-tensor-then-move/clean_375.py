"""Chance around what lies on the device already: the move does nothing."""

import torch


def train(model, optimizer, loader, size, device):
    mean = torch.zeros(64, size, device=device)
    for x in loader:
        noise = torch.normal(mean, std=mean + 1).to(device)
        loss = (model(noise) - x.to(device, non_blocking=True)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
