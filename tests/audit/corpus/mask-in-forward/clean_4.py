import torch
from torch import nn


class Positions(nn.Module):
    """Token positions and an all-ones tensor are small, and no mask of n × n."""

    def __init__(self, length, width):
        super().__init__()
        self.table = nn.Embedding(length, width)
        self.tokens = nn.Embedding(50_000, width)

    def forward(self, ids):
        pos = torch.arange(0, ids.size(1), dtype=torch.long, device=ids.device)
        scale = torch.ones(1, device=ids.device)
        return (self.tokens(ids) + self.table(pos)) * scale


class Lower(nn.Module):
    """The triangle of a computed matrix is the computation itself."""

    def forward(self, factors):
        lower = torch.tril(factors)
        return lower @ lower.transpose(-1, -2)
