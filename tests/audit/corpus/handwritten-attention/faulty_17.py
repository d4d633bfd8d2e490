"""Scores that one method makes and another takes, which keeps its weights for a look."""

import math

import torch
from torch import nn


class MultiHead(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.weights = None
        self.scale = math.sqrt(size)
        self.dropout = nn.Dropout(0.1)

    def weigh(self, values, scores, mask):
        if mask is not None:
            scores = scores.masked_fill(mask, -1e9)
            self.weights = torch.softmax(scores, dim=-1).masked_fill(mask, 0.0)  # expect: handwritten-attention@note
        else:
            self.weights = torch.softmax(scores, dim=-1)  # expect: handwritten-attention@note
        return torch.matmul(self.dropout(self.weights), values)

    def forward(self, q, k, v, mask=None):
        scores = torch.matmul(q, k.transpose(-2, -1)) / self.scale
        return self.weigh(v, scores, mask)


class Split(nn.Module):
    """Keys that are turned where heads are split."""

    def _attend(self, q, k, v):
        scores = torch.matmul(q, k) / math.sqrt(v.size(-1))  # expect: handwritten-attention@note
        return torch.matmul(nn.Softmax(dim=-1)(scores), v)

    def forward(self, q, k, v):
        return self._attend(self.heads(q), self.heads(k, turn=True), self.heads(v))
