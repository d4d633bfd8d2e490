# as in https://example.org/notes#scaled_dot_product_attention, by hand
import torch
import torch.nn.functional as F
from torch import nn


class Listed(nn.Module):
    """The operands come as a list."""

    def forward(self, q, k, v):
        scores = torch.einsum("nhid,nhjd->nhij", [q, k]) * self.scale  # expect: handwritten-attention@warning
        weights = F.softmax(scores, dim=-1)
        weights = self.attn_drop(weights)
        return torch.einsum("nhij,nhjd->nhid", [weights, v])


class Chained(nn.Module):
    """Softmax and dropout are one layer."""

    def __init__(self, scale, p):
        super().__init__()
        self.scale = scale
        self.weigh = nn.Sequential(nn.Softmax(dim=-1), nn.Dropout(p))

    def forward(self, q, k, v):
        scores = q @ k.transpose(-2, -1) * self.scale  # expect: handwritten-attention@warning
        weights = self.weigh(scores)
        return weights @ v


class ScaledBefore(nn.Module):
    """Keys are turned and scaled at once."""

    def forward(self, x, mask):
        q, k, v = self.query(x), self.key(x), self.value(x)
        scale = self.width**-0.25
        q = q.view(*q.shape[:2], self.heads, -1).transpose(1, 2) * scale
        k = k.view(*k.shape[:2], self.heads, -1).permute(0, 2, 3, 1) * scale
        v = v.view(*v.shape[:2], self.heads, -1).transpose(1, 2)
        scores = q @ k  # expect: handwritten-attention@warning
        if mask is not None:
            scores = scores + mask
        weights = F.softmax(scores.float(), dim=-1).to(q.dtype)
        return (weights @ v).transpose(1, 2).flatten(2)


def scaled_dot_product_attention(q, k, v, mask=None, p=0.0):
    """Our own, of the same name as PyTorch's scaled_dot_product_attention."""
    scores = torch.matmul(q, k.transpose(-1, -2)) * q.shape[-1] ** -0.5  # expect: handwritten-attention@warning
    if mask is not None:
        scores = scores.masked_fill(mask == 0, float("-inf"))
    weights = F.softmax(scores, dim=-1)
    return torch.matmul(F.dropout(weights, p=p), v)


def heads(q, k, v, mask):
    return scaled_dot_product_attention(q, k, v, mask)
