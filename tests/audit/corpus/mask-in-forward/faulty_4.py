import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self, size, causal=True):
        super().__init__()
        self.causal = causal
        self.project = nn.Linear(size, 3 * size)

    def forward(self, x):
        *_, device = *x.shape, x.device
        q, k, v = self.project(x).chunk(3, dim=-1)
        scores = torch.einsum("b i d, b j d -> b i j", q, k)
        if self.causal:
            i, j = scores.shape[-2:]
            later = torch.ones(i, j, device=device).triu_(j - i + 1).bool()  # expect: mask-in-forward@warning
            scores.masked_fill_(later, -1e4)
        return scores.softmax(dim=-1) @ v
