import torch
from torch import nn


class Kernels(nn.Module):
    def __init__(self, n_kernels):
        super().__init__()
        self.n_kernels = n_kernels
        self.convs = nn.ModuleList(nn.Conv1d(1, 1, 9) for _ in range(n_kernels))

    def forward(self, x):
        for i in range(self.n_kernels):
            part = self.convs[i](x).amax(-1)
            output = part if i == 0 else torch.cat((output, part), dim=-1)  # expect: growing-concatenation
        return output
