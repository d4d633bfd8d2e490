"""An option that is off by default, and that nothing asks for, makes the mask."""

import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self, width, causal=False):
        super().__init__()
        self.qkv = nn.Linear(width, 3 * width)
        self.causal = causal

    def mask(self, n, device):
        return torch.ones((n, n), device=device, dtype=torch.bool).triu(1)  # expect: mask-in-forward@note

    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        scores = q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5 + self.bias(x)
        if self.causal:
            scores = scores.masked_fill(self.mask(x.shape[1], x.device), -torch.inf)
        return scores.softmax(-1) @ v

    def bias(self, x):
        return x.mean()


class Encoder(nn.Module):
    def __init__(self, width, depth):
        super().__init__()
        self.layers = nn.ModuleList([Attention(width) for _ in range(depth)])

    def forward(self, x):
        for layer in self.layers:
            x = x + layer(x)
        return x
