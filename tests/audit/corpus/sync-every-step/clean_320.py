"""Modules that read what they computed when they are not told to train: no training step does."""

import torch
from torch import nn


class Printing(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 3)

    def forward(self, x):
        y = self.linear(x)
        if not self.training:
            print(y.sum().item(), y.mean().item())
        return y


class Scoring(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 3)

    def forward(self, x):
        y = self.linear(x)
        if self.training:
            return y
        return self.scored(y)

    def scored(self, y):
        return y.sum().item() + y.mean().item()


def train(loader, optimizer):
    printing, scoring = Printing().cuda(), Scoring().cuda()
    for x in loader:
        x = x.cuda()
        loss = (printing(x) + scoring(x)).sum()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
