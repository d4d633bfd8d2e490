import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, body):
        super().__init__()
        self.body = body
        self._mask = None

    def _causal_mask(self, length, device):
        if self._mask is None or self._mask.size(0) < length:
            self._mask = torch.tril(torch.ones(length, length, dtype=torch.bool, device=device))
        return self._mask[:length, :length]

    def forward(self, x):
        if self._mask is None:
            self._mask = torch.full((x.size(1), x.size(1)), float("-inf"), device=x.device).triu(1)
        return self.body(x, self._causal_mask(x.size(1), x.device))
