import torch
from torch import nn
from torch.nn import functional as F


class Attention(nn.Module):
    """Gives its weights back beside the result, which most callers drop."""

    def __init__(self, temperature):
        super().__init__()
        self.temperature = temperature
        self.softmax = nn.Softmax(dim=2)

    def forward(self, q, k, v, mask=None):
        scores = torch.bmm(q, k.transpose(1, 2)) / self.temperature  # expect: handwritten-attention@note
        if mask is not None:
            scores = scores.masked_fill(mask, float("-inf"))
        weights = self.softmax(scores)
        return torch.bmm(weights, v), weights


class Decoding(nn.Module):
    """In another shape, for each head; and its type is read off the scores."""

    def __init__(self, heads, dropout):
        super().__init__()
        self.heads = heads
        self.dropout = nn.Dropout(dropout)

    def forward(self, q, k, v, mask):
        scores = torch.nan_to_num(torch.bmm(q, k.transpose(1, 2)))  # expect: handwritten-attention@note
        scores += mask
        weights = F.softmax(scores, dim=-1, dtype=torch.float32).type_as(scores)
        out = torch.bmm(self.dropout(weights), v)
        weights = weights.view(-1, self.heads, q.size(1), k.size(1)).transpose(1, 0)
        return out, weights
