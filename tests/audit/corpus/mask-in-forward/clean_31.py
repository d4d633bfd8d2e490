"""Where a model is written out for another runtime, the triangle is put together of what that knows."""

import torch
from torch import nn


def upper_onnx(x):
    places = torch.arange(x.size(0), device=x.device)
    mask = places.unsqueeze(-1).expand(-1, x.size(0)) <= places
    return x * mask


class Decoder(nn.Module):
    def forward(self, scores):
        return torch.softmax(upper_onnx(scores), dim=-1)
