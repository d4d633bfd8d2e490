import torch
from torch import nn


class Heads(nn.Module):
    def __init__(self, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.heads = nn.ModuleList(nn.Linear(8, 2) for _ in range(n_heads))

    def forward(self, x):
        """A few of them."""
        for i in range(self.n_heads):
            part = self.heads[i](x)
            output = part if i == 0 else torch.cat((output, part), dim=-1)
        return output
