import torch
from einops import rearrange
from torch import nn


class Block(nn.Module):
    """Of an autoencoder of pictures."""

    def forward(self, x):
        q, k, v = self.q(x), self.k(x), self.v(x)
        b, c, h, w = q.shape
        q = q.reshape(b, c, h * w)
        q = q.permute(0, 2, 1)
        k = k.reshape(b, c, h * w)
        w_ = torch.bmm(q, k)  # expect: handwritten-attention@warning
        w_ = w_ * (int(c) ** (-0.5))
        w_ = torch.nn.functional.softmax(w_, dim=2)
        v = v.reshape(b, c, h * w)
        w_ = w_.permute(0, 2, 1)
        out = torch.bmm(v, w_)
        return x + self.project(out.reshape(b, c, h, w))


class Rearranged(nn.Module):
    def forward(self, x):
        q = rearrange(self.q(x), "b c h w -> b (h w) c")
        k = rearrange(self.k(x), "b c h w -> b c (h w)")
        v = rearrange(self.v(x), "b c h w -> b c (h w)")
        weights = torch.einsum("bij,bjk->bik", q, k) * self.scale  # expect: handwritten-attention@warning
        weights = weights.softmax(dim=2)
        weights = rearrange(weights, "b i j -> b j i")
        return torch.einsum("bij,bjk->bik", v, weights)
