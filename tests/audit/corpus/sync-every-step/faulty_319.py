"""Whether an index is among those of a tensor on the device is asked for each index, in each step."""

import torch


def train(model, data, optimizer, size, steps):
    left = torch.arange(len(data), device="cuda")
    for _ in range(steps):
        taken = left[torch.randperm(len(left), device="cuda")[:size]]
        left = torch.stack([each for each in left if each not in taken])  # expect: sync-every-step@warning
        loss = model(data[taken]).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
