import torch
import xformers.ops
from torch import nn


class Efficient(nn.Module):
    def forward(self, q, k, v):
        return xformers.ops.memory_efficient_attention(q, k, v)


class Places(nn.Module):
    """Nobody thought of this one when the other got its kernel."""

    def forward(self, x):
        q, k, v = self.q(x), self.k(x), self.v(x)
        weights = torch.softmax(q @ k.transpose(-2, -1) * self.scale, dim=-1)  # expect: handwritten-attention@note
        return weights @ v
