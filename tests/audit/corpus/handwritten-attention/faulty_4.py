import torch
from torch import nn


class WindowAttention(nn.Module):
    """A bias that is added can go in as a mask, but not into every fused kernel."""

    def __init__(self, dim, heads, window):
        super().__init__()
        self.heads, self.scale = heads, (dim // heads) ** -0.5
        self.qkv, self.out = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)
        self.position_bias = nn.Parameter(torch.zeros(heads, window, window))

    def forward(self, x):
        batch, length, dim = x.shape
        q, k, v = self.qkv(x).reshape(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4).unbind(0)
        scores = (q @ k.transpose(-2, -1)) * self.scale  # expect: handwritten-attention@note
        scores = scores + self.position_bias
        weights = scores.softmax(dim=-1)
        return self.out((weights @ v).transpose(1, 2).reshape(batch, length, dim))
