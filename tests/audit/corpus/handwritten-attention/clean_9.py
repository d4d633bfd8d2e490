"""Look-alikes: weights that another function reads, mixed heads, channels, and scores of another kind."""

import torch
from torch import einsum, nn
from torch.nn import functional as F


class Shown(nn.Module):
    """The weights are part of what the layer is for."""

    def forward(self, q, k, v):
        self.weights = torch.softmax(q @ k.transpose(-2, -1), dim=-1)
        return self.weights @ v

    def entropy(self):
        return -(self.weights * self.weights.log()).sum(-1)


class Talking(nn.Module):
    """Heads are mixed between the softmax and the product."""

    def forward(self, q, k, v):
        scores = einsum("b h i d, b h j d -> b h i j", q, k)
        weights = scores.softmax(dim=-1, dtype=torch.float32)
        weights = self.mix(weights)
        return einsum("b h i j, b h j d -> b h i d", weights, v)


class Channels(nn.Module):
    """Weights between features, of which there are few."""

    def forward(self, x):
        q, k, v = self.q(x), self.k(x), self.v(x)
        weights = F.softmax(q.transpose(-2, -1) @ k, dim=-1)
        return (weights @ v.transpose(-2, -1)).transpose(-2, -1)


class Routed(nn.Module):
    """Scores that a layer makes, handed to a method as another's would be."""

    def weigh(self, values, scores):
        return torch.matmul(torch.softmax(scores, dim=-1), values)

    def forward(self, x, experts):
        return self.weigh(experts, self.router(x))
