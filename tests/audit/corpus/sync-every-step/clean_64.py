"""What an heir has of its own, and its parent's forward pass does not call, is called when somebody wants it."""

import torch
from torch import nn


class Pointer(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.out = nn.Linear(size, size)

    def forward(self, query):
        return self.out(query)

    def largest(self):
        return self.out.weight.abs().max()


class Gated(Pointer):
    def largest(self):
        return self.out.weight.abs().max().item()
