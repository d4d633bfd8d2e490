"""Only the greatest scores are attended to: no fused kernel picks them."""

import torch
from torch import nn


class TopAttention(nn.Module):
    def __init__(self, kept):
        super().__init__()
        self.kept = kept

    def forward(self, queries, keys, values):
        scores = queries @ keys.transpose(-2, -1) / keys.shape[-1] ** 0.5
        _, places = torch.topk(scores, self.kept, dim=-1)
        mask = torch.full_like(scores, float("-inf")).scatter(-1, places, 0.0)
        scores = scores + mask
        weights = torch.softmax(scores, dim=-1)
        return weights @ values


class AboveAttention(nn.Module):
    def __init__(self, kept):
        super().__init__()
        self.kept = kept

    def forward(self, queries, keys, values):
        scores = queries @ keys.transpose(-2, -1) / keys.shape[-1] ** 0.5
        least = scores.kthvalue(self.kept, dim=-1, keepdim=True).values
        scores = scores.masked_fill(scores < least, float("-inf"))
        weights = torch.softmax(scores, dim=-1)
        return weights @ values
