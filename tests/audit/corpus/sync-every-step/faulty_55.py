"""One call below it, and in the code itself, it is."""

import torch
from torch import nn


def longest(lengths):
    return lengths.max().item()  # expect: sync-every-step@note


class Pool(nn.Module):
    def forward(self, x, weights, lengths):
        if not torch.isfinite(weights).all():  # expect: sync-every-step@note
            weights = weights.nan_to_num()
        return (x * weights)[:, : longest(lengths)].sum(1)
