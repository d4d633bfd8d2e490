"""What a layer needs is made at its first pass alone, as its flag says."""

import torch
from torch import nn


class Quantizer(nn.Module):
    def forward(self, x):
        if not self.initialized:
            self.scale = nn.Parameter(torch.zeros(x.shape[1]).to(x.device))
            self.mark()
        return x * self.scale

    def mark(self):
        self.initialized = True
