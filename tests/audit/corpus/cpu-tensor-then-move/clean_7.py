import torch
from torch import nn


class Regions(nn.Module):
    """Where nothing was found there is nothing to copy."""

    def forward(self, frames):
        found = [each.mean(0) for each in frames if each.numel()]
        if not found:
            return torch.empty(0, 3).to(frames[0].device)
        return torch.stack(found) if len(found) > 1 else torch.zeros((0, 3)).to(frames[0].device)
