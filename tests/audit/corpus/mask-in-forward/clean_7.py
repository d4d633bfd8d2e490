import torch
from torch import nn


class Merge(nn.Module):
    """What is compared was made of a shape, then filled with the batch's data."""

    def forward(self, index, x):
        keys = torch.arange(index.numel() + 1, device=index.device)
        keys[1:] = index
        first = keys[1:] > keys[:-1]
        counts = torch.arange(index.numel(), device=index.device)
        counts.scatter_add_(0, index, index)
        full = counts > torch.arange(index.numel(), device=index.device)
        return (x * first * full).softmax(-1)
