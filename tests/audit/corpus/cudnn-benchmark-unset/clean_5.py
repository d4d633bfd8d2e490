import torch
from torch import nn


def train(loader):
    """A convolution on the processor does not ask cuDNN."""
    net = nn.Sequential(nn.Conv1d(1, 4, 5), nn.Flatten(), nn.Linear(64, 2))
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for x, y in loader:
        opt.zero_grad()
        nn.functional.cross_entropy(net(x), y).backward()
        opt.step()
