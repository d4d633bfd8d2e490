"""Attention within windows: a bias of positions, and a mask that is given its axes in one branch alone."""

from torch import nn


class Windows(nn.Module):
    def __init__(self, table):
        super().__init__()
        self.table = table
        self.softmax = nn.Softmax(dim=-1)

    def forward(self, q, k, v, mask=None):
        scores = q @ k.transpose(-2, -1)  # expect: handwritten-attention@note
        scores = scores + self.table.relative_position_bias()
        if mask is not None:
            windows = mask.shape[0]
            scores = scores.view(-1, windows, *scores.shape[1:]) + mask.unsqueeze(1)
            scores = scores.view(-1, *scores.shape[2:])
            weights = self.softmax(scores)
        else:
            weights = self.softmax(scores)
        return weights @ v


def by_function(q, k, v, sizes):
    """A bias that a function adds."""
    scores = q @ k.transpose(-2, -1)  # expect: handwritten-attention@note
    scores = add_relative_positions(scores, q, sizes)
    return scores.softmax(dim=-1) @ v


def add_relative_positions(scores, q, sizes):
    return scores + q[..., : sizes[0]].sum(-1, keepdim=True)
