import torch
from torch import nn


class Biased(nn.Module):
    """Channels first, with a bias of places: it would go in as a mask."""

    def forward(self, x):
        q, k, v = self.qkv(x).flatten(2).split([16, 16, 32], dim=1)
        attn = q.transpose(-2, -1) @ k  # expect: handwritten-attention@note
        attn = attn + self.attention_biases[0]
        attn = attn.softmax(dim=-1)
        return v @ attn.transpose(-2, -1)


class Plain(nn.Module):
    def forward(self, x):
        q, k, v = self.qkv(x).flatten(2).split([16, 16, 32], dim=1)
        attn = (q.transpose(-2, -1) @ k) * self.scale  # expect: handwritten-attention@warning
        attn = attn.softmax(dim=-1)
        return v @ attn.transpose(-2, -1)
