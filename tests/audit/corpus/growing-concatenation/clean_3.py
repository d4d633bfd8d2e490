import torch
from torch import nn


class Dense(nn.Module):
    """Four layers, each of which reads all before it."""

    def __init__(self, layers):
        super().__init__()
        self.layers = nn.ModuleList(layers)

    def forward(self, x):
        for layer in self.layers:
            x = torch.cat([x, layer(x)], dim=1)
        return x


def train(model, loader, optimizer):
    queue = torch.zeros(4096, 128, device="cuda")
    for x, y in loader:
        both = torch.cat([x, y]).cuda()
        out = model(both)
        out.mean().backward()
        optimizer.step()
        optimizer.zero_grad()
        queue = torch.cat([queue, out.detach()])[-4096:]
