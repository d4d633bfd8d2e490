import torch
import torch.nn.functional as F
from einops import rearrange
from torch import nn


class Places(nn.Module):
    """Self-attention of an image network, as generative adversarial ones have it."""

    def __init__(self, channels):
        super().__init__()
        self.query = nn.Conv2d(channels, channels // 8, 1)
        self.key = nn.Conv2d(channels, channels // 8, 1)
        self.value = nn.Conv2d(channels, channels, 1)
        self.softmax = nn.Softmax(dim=-1)

    def forward(self, x):
        b, c, h, w = x.size()
        q = self.query(x).view(b, -1, h * w).permute(0, 2, 1)
        k = self.key(x).view(b, -1, h * w)
        attention = self.softmax(torch.bmm(q, k))  # expect: handwritten-attention@warning
        v = self.value(x).view(b, -1, h * w)
        out = torch.bmm(v, attention.permute(0, 2, 1))
        return out.view(b, c, h, w) + x


class Baddbmm(nn.Module):
    def forward(self, q, k, v, mask):
        scores = torch.baddbmm(mask, q, k.transpose(-1, -2), beta=1, alpha=self.scale)  # expect: handwritten-attention@warning
        probs = F.softmax(scores, dim=-1, dtype=torch.float32)
        probs = probs.to(q.dtype)
        return torch.bmm(probs, v)


class Rearranged(nn.Module):
    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        q = rearrange(q, "b n (h d) -> b h n d", h=self.heads)
        k = rearrange(k, "b n (h d) -> b h d n", h=self.heads)
        v = rearrange(v, "b n (h d) -> b h n d", h=self.heads)
        dots = torch.matmul(q, k) / self.heads**0.5  # expect: handwritten-attention@warning
        weights = dots.softmax(-1)
        return rearrange(weights @ v, "b h n d -> b n (h d)")


def attention(q, k, v, dropout=None, need_weights=False):
    scores = q @ k.mT * q.size(-1) ** -0.5  # expect: handwritten-attention@note
    p_attn = scores.softmax(dim=-1)
    if dropout is not None:
        p_attn = dropout(p_attn)
    return (p_attn @ v, p_attn) if need_weights else (p_attn @ v,)
