"""Attention over a picture's places: rows and columns are made one axis, and queries turned."""

import torch
from torch import nn
from torch.nn import functional as F


class NonLocal(nn.Module):
    def forward(self, x):
        batch, channels, height, width = x.shape
        theta = self.theta(x).view(batch, channels, -1).permute(0, 2, 1)
        phi = self.phi(x).view(batch, channels, -1)
        g = self.g(x).view(batch, channels, -1).permute(0, 2, 1)
        scores = torch.bmm(theta, phi) * self.scale  # expect: handwritten-attention
        weights = F.softmax(scores, dim=2)
        return torch.bmm(weights, g).permute(0, 2, 1).reshape(batch, channels, height, width)
