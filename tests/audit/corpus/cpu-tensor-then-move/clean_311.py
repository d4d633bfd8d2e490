import random

import torch
from torch import nn


def train(net, loader, device, names):
    """What is drawn from data is data."""
    net.to(device)
    optimizer = torch.optim.Adam(net.parameters())
    for x, y in loader:
        drawn = torch.tensor(random.choices(names, k=4))
        loss = nn.functional.nll_loss(net(x.to(device), drawn.to(device)), y.to(device))
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
