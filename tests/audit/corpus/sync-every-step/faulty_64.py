"""An heir's own part of what its parent's forward pass calls runs with each pass as well."""

import torch
from torch import nn


class Pointer(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.out = nn.Linear(size, size)

    def forward(self, query, mask):
        return self.project(query, mask)

    def project(self, query, mask):
        return self.out(query)


class Gated(Pointer):
    def __init__(self, size):
        super().__init__(size)
        self.gate = nn.Linear(size, 2)

    def project(self, query, mask):
        chosen = self.gate(query.mean(0)).softmax(-1).multinomial(1)
        if chosen.item() == 1:  # expect: sync-every-step@note
            return self.out(query)
        return query
