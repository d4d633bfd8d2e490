import torch
from torch import nn


class Pairs(nn.Module):
    """A triangle of what the scores are: it follows from this batch's data."""

    def __init__(self, size):
        super().__init__()
        self.project = nn.Linear(size, size)

    def forward(self, x):
        scores = self.project(x) @ x.transpose(-2, -1)
        later = scores.detach().clone().triu_(1).bool()
        return scores.masked_fill_(later, 0.0).softmax(dim=-1)
