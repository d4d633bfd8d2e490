import torch
from torch import nn


def causal_mask(length):
    return torch.triu(torch.ones(length, length), diagonal=1).bool()


class Decoder(nn.Module):
    def __init__(self, length):
        super().__init__()
        self.register_buffer("mask", causal_mask(length), persistent=False)
