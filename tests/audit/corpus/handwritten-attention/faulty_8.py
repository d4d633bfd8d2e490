import math

import torch
from torch import einsum, nn


class Unpacked(nn.Module):
    """Attention of a U-Net over places, in channels first."""

    def forward(self, qkv):
        batch, width, length = qkv.shape
        channels = width // 3
        q, k, v = torch.split(qkv, channels, dim=1)
        scale = 1 / math.sqrt(math.sqrt(channels))
        weight = torch.einsum("bct,bcs->bts", q * scale, k * scale)  # expect: handwritten-attention@warning
        weight = torch.softmax(weight.float(), dim=-1).type(weight.dtype)
        return torch.einsum("bts,bcs->bct", weight, v)


class Heads(nn.Module):
    def __init__(self, heads, size, dropout):
        super().__init__()
        self.heads = heads
        self.q, self.k, self.v = nn.Linear(size, size), nn.Linear(size, size), nn.Linear(size, size)
        self.softmax = nn.Softmax(dim=-1)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, mask=None, return_weights=False):
        b, n, _ = x.shape
        q = self.q(x).view(b, n, self.heads, -1).transpose(1, 2)
        k = self.k(x).view(b, n, self.heads, -1).transpose(1, 2)
        v = self.v(x).view(b, n, self.heads, -1).transpose(1, 2)
        scores = torch.matmul(q, k.transpose(2, 3))  # expect: handwritten-attention@note
        if mask is not None:
            scores = scores.masked_fill(~mask.unsqueeze(1), float("-inf"))
        attention = self.softmax(scores)
        probabilities = self.dropout(attention)
        context = torch.matmul(probabilities, v).transpose(1, 2).reshape(b, n, -1)
        if return_weights:
            return context, attention.view(b, self.heads, n, n).mean(1)
        return context, None


class Latents(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.to_q, self.to_kv = nn.Linear(width, width), nn.Linear(width, 2 * width)
        self.attend = nn.Softmax(dim=-1)

    def forward(self, x, context):
        q = self.to_q(x)
        k, v = self.to_kv(context).chunk(2, dim=-1)
        sim = einsum("b i d, b j d -> b i j", q, k) * self.scale  # expect: handwritten-attention@warning
        sim = sim - sim.amax(dim=-1, keepdim=True).detach()
        attn = sim.softmax(dim=-1)
        attn = self.drop(attn)
        return einsum("b i j, b j d -> b i d", attn, v)
