import torch as th
from torch import nn


class LocalAttention(nn.Module):
    def __init__(self, inner, window):
        super().__init__()
        self.inner = inner
        self.window = window

    def forward(self, queries):
        n = queries.shape[-2]
        rows = th.arange(n, device=queries.device)[:, None]
        columns = th.arange(n, device=queries.device)[None, :]
        allowed = (columns <= rows) & (rows - columns < self.window)  # expect: mask-in-forward
        return self.inner(queries, allowed)
