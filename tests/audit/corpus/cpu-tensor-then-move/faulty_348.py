"""Tables that methods without an instance make, lists that are arguments, and tensors that become like others."""

import torch
from torch import nn


class Encoder(nn.Module):
    @staticmethod
    def table(width, height, size=64):
        columns = torch.arange(int(width), dtype=torch.float32)
        rows = torch.arange(int(height), dtype=torch.float32)
        columns, rows = torch.meshgrid(columns, rows, indexing="ij")
        rates = torch.arange(size // 4, dtype=torch.float32) / (size // 4)
        rates = 1.0 / (10000.0**rates)
        across = columns.flatten()[..., None] @ rates[None]
        down = rows.flatten()[..., None] @ rates[None]
        return torch.concat([across.sin(), across.cos(), down.sin(), down.cos()], dim=1)[None, :, :]

    def forward(self, features):
        height, width = features.shape[2:]
        return features.flatten(2) + self.table(width, height).to(features.device)  # expect: cpu-tensor-then-move


class Clipped(torch.autograd.Function):
    @staticmethod
    def forward(ctx, picture):
        mask = torch.zeros(picture.size()).type_as(picture)  # expect: cpu-tensor-then-move@note
        return picture * mask


def weighted_loss(scores, weights: list[float]):
    weights = torch.tensor(weights).to(scores.device)  # expect: cpu-tensor-then-move@note
    return (scores * weights).sum()
