import torch
from torch import nn


class Kept(nn.Module):
    def __init__(self, length):
        super().__init__()
        self.register_buffer("mask", self.make_mask(length), persistent=False)

    @staticmethod
    def make_mask(length):
        return torch.tril(torch.ones(length, length)).bool()

    def forward(self, x):
        return self.layer(x, self.mask[: x.size(1), : x.size(1)])
