import torch
from torch import nn


class Attention(nn.Module):
    """Queries, keys and values lie side by side in the last axis, with their features before it."""

    def __init__(self, size, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(size, size * 3)

    def forward(self, x):
        b, n, c = x.shape
        qkv = self.qkv(x).reshape(b, n, self.heads, c // self.heads, 3).transpose(1, 2)
        q, k, v = qkv.unbind(-1)
        scores = (q * c**-0.5) @ k.transpose(-2, -1)  # expect: handwritten-attention@warning
        weights = torch.softmax(scores, dim=-1)
        return (weights @ v).transpose(1, 2).reshape(b, n, c)
