"""What a condition brings to the host where no device is: on a device it stays there, and is read."""

import torch


def train(model, optimizer, loader):
    for x in loader:
        costs = model(x.cuda())
        if not costs.is_cuda:
            costs = costs.cpu()
        if torch.isfinite(costs).all():  # expect: sync-every-step
            costs.mean().backward()
            optimizer.step()
        optimizer.zero_grad()
        print(costs.max().item())  # expect: sync-every-step
