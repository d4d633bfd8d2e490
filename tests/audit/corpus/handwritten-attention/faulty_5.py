import torch
from torch import nn


def shifted_softmax(scores, dim=-1):
    return torch.softmax(scores - scores.amax(dim, keepdim=True).detach(), dim)


class Attention(nn.Module):
    def __init__(self, size, heads, stable=False):
        super().__init__()
        self.heads = heads
        self.stable = stable
        self.project = nn.Linear(size, 3 * size)

    def forward(self, x):
        softmax = shifted_softmax if self.stable else torch.softmax
        q, k, v = self.project(x).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        scores = torch.einsum("bhid,bhjd->bhij", q, k) * q.shape[-1] ** -0.5  # expect: handwritten-attention@warning
        weights = softmax(scores, dim=-1)
        return torch.einsum("bhij,bhjd->bhid", weights, v).transpose(1, 2).flatten(2)
