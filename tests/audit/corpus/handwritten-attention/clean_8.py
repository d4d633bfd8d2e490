import torch
import torch.nn.functional as F
from torch import nn


class Attention(nn.Module):
    """Where the fused kernel does not work."""

    def forward(self, q, k, v):
        weights = torch.softmax(q @ k.transpose(-2, -1) * self.scale, dim=-1)
        return weights @ v


class FlashAttention(Attention):
    def forward(self, q, k, v):
        return F.scaled_dot_product_attention(q, k, v)


class CrossAttention(nn.Module):
    def forward(self, q, k, v):
        return (q @ k.mT).softmax(-1) @ v


class MemoryEfficientCrossAttention(nn.Module):
    def forward(self, q, k, v):
        return F.scaled_dot_product_attention(q, k, v)
