"""Weights that are masked by heads where somebody asks for it, and handed out where somebody asks for them."""

import math

import torch
from torch import nn


class Attention(nn.Module):
    def forward(self, q, k, v, mask, head_mask=None, output_attentions=False):
        """Scores, mask, weights, values."""
        scores = torch.matmul(q / math.sqrt(8), k.transpose(-1, -2) / math.sqrt(8))  # expect: handwritten-attention@note
        scores += mask
        weights = nn.Softmax(dim=-1)(scores)
        if head_mask is not None:
            weights = weights * head_mask
        out = torch.matmul(weights, v)
        return (out, weights) if output_attentions else (out,)


def let_go(q, k, v, output_attentions):
    """Weights that are given up unless somebody wants them."""
    weights = torch.softmax(q @ k.transpose(-1, -2), dim=-1)  # expect: handwritten-attention
    out = weights @ v
    if not output_attentions:
        weights = None
    return out, weights
