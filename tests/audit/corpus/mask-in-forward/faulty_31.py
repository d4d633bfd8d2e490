"""The same triangle where a model is trained."""

import torch
from torch import nn


def upper(x):
    places = torch.arange(x.size(0), device=x.device)
    mask = places.unsqueeze(-1).expand(-1, x.size(0)) <= places  # expect: mask-in-forward
    return x * mask


class Decoder(nn.Module):
    def forward(self, scores):
        return torch.softmax(upper(scores), dim=-1)
