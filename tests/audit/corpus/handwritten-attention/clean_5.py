import torch
import torch.nn.functional as F
from einops import rearrange
from torch import einsum, nn


class Neighbourhood(nn.Module):
    """Each place has keys of its own: the few around it."""

    def forward(self, q, k, v):
        k = F.unfold(k, 3, padding=1)
        v = F.unfold(v, 3, padding=1)
        k, v = map(lambda t: rearrange(t, "b (d j) n -> b n j d", j=9), (k, v))
        weights = einsum("b i d, b i j d -> b i j", q, k).softmax(dim=-1)
        return einsum("b i j, b i j d -> b i d", weights, v)


class Channels(nn.Module):
    """Weights between channels, of which there are few; their queries are as long as the picture."""

    def __init__(self, size, heads):
        super().__init__()
        self.heads = heads
        self.temperature = nn.Parameter(torch.ones(heads, 1, 1))
        self.qkv = nn.Linear(size, size * 3)

    def forward(self, x):
        b, n, _ = x.shape
        qkv = self.qkv(x).reshape(b, n, 3, self.heads, -1).permute(2, 0, 3, 4, 1)
        q, k, v = qkv.unbind(0)
        weights = (F.normalize(q, dim=-1) @ F.normalize(k, dim=-1).transpose(-2, -1)) * self.temperature
        weights = weights.softmax(dim=-1)
        return (weights @ v).permute(0, 3, 1, 2).reshape(b, n, -1)


class Pictures(nn.Module):
    """The same of pictures, in another notation."""

    def __init__(self, size, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Conv2d(size, size * 3, 1)

    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, dim=1)
        q = rearrange(q, "b (h c) y x -> b h c (y x)", h=self.heads)
        k = rearrange(k, "b (h c) y x -> b h c (y x)", h=self.heads)
        v = rearrange(v, "b (h c) y x -> b h c (y x)", h=self.heads)
        q = F.normalize(q, dim=-1)
        weights = torch.softmax(q @ k.transpose(-2, -1), dim=-1)
        return torch.matmul(weights, v)


class Numbers(nn.Module):
    """Queries, keys and values are one number each."""

    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(1, 3)

    def forward(self, x):
        q, k, v = self.qkv(x).unbind(-1)
        weights = (q @ k.transpose(-1, -2)).softmax(dim=-1)
        return (weights @ v).unsqueeze(-1)


class Bands(nn.Module):
    """The product goes over time, frequency and features at once."""

    def forward(self, q, k, v):
        weights = einsum("bhtcfn,bhtefn->bhce", q, k).softmax(dim=-1)
        return einsum("bhce,bhtefn->bhtcfn", weights, v)
