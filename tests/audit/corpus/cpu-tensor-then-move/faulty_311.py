import random

import numpy as np
import torch
from torch import nn


class Decoder(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.out = nn.Linear(width, width)

    def forward(self, x):
        mask = np.triu(np.ones((x.size(1), x.size(1))), k=1).astype("uint8")
        mask = torch.from_numpy(mask).to(x.device)  # expect: cpu-tensor-then-move
        return self.out(x.masked_fill(mask == 1, 0))


def train(net, loader, device):
    net.to(device)
    optimizer = torch.optim.Adam(net.parameters())
    for x, y in loader:
        weights = torch.FloatTensor([random.uniform(1, 100), random.uniform(1, 100)])
        loss = nn.functional.nll_loss(net(x.to(device)), y.to(device), weight=weights.to(device))  # expect: cpu-tensor-then-move
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
