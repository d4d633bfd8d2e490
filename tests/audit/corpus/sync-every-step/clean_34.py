"""Two calls below what only its name says to run for each batch, and where arguments are checked, nothing is told."""

import torch
from torch import nn


def check(weights):
    if torch.any(weights < 0):
        raise ValueError("weights are below zero")


def longest(lengths):
    return int(lengths.max())


def places(lengths):
    return torch.arange(longest(lengths))


class Pool(nn.Module):
    def forward(self, x, weights, lengths):
        check(weights)
        return (x * weights)[:, places(lengths)].sum(1)
