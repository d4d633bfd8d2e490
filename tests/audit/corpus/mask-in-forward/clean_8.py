import torch
from torch import nn


class Attention(nn.Module):
    """The mask is made when a longer text comes along, and kept."""

    def __init__(self):
        super().__init__()
        self.register_buffer("mask", None, persistent=False)

    def get_mask(self, n, device):
        if self.mask is not None and self.mask.shape[-1] >= n:
            return self.mask[:n, :n]
        mask = torch.ones((n, n), device=device, dtype=torch.bool).triu(1)
        self.register_buffer("mask", mask, persistent=False)
        return mask

    def forward(self, scores):
        return scores.masked_fill(self.get_mask(scores.shape[-1], scores.device), float("-inf")).softmax(-1)
