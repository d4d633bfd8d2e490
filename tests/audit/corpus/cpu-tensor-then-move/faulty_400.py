"""What a tensor is moved to may be another tensor, whose type it then takes over: no argument `device` does that."""

import torch
from torch import nn


class Noise(nn.Module):
    def forward(self, z):
        low = torch.zeros(z.size(0), 3).to(z)  # expect: cpu-tensor-then-move
        return z + low

    def begin(self, z):
        return torch.ones(z.size(0), 3).type_as(z)  # expect: cpu-tensor-then-move@note
