import torch
from torch import nn


class Rotary(nn.Module):
    """The angles change their type, not their place."""

    def forward(self, x, dtype):
        places = torch.arange(x.size(1)).to(dtype)
        angles = torch.outer(places, torch.arange(self.half).to(self.dtype))
        return angles.cos()
