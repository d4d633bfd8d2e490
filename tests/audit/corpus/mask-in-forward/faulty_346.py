"""A table of sines of positions alone, made in each pass."""

import torch
from torch import nn


class Positions(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.register_buffer("rates", 1.0 / (10000 ** (torch.arange(0, channels, 2).float() / channels)))

    def forward(self, tensor):
        rows = torch.arange(tensor.shape[1], device=tensor.device)  # expect: mask-in-forward@note
        waves = torch.einsum("i,j->ij", rows.float(), self.rates)
        return tensor + torch.cat((waves.sin(), waves.cos()), dim=-1)
