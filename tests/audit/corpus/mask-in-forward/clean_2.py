import torch
from torch import nn


class Encoder(nn.Module):
    """The mask follows from the lengths of this batch: it cannot be kept."""

    def __init__(self, body):
        super().__init__()
        self.body = body

    def forward(self, x, lengths):
        positions = torch.arange(x.size(1), device=x.device)
        padding = positions[None, :] >= lengths[:, None]
        blocked = torch.tril(x.new_ones(x.size(1), x.size(1))).bool()[None] & ~padding[:, None, :]
        return self.body(x, blocked)
