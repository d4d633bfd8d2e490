import numpy as np
import torch
from torch import nn


class Detector(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(size, 64), nn.ReLU(), nn.Linear(64, 1))

    def forward(self, x):
        return self.layers(x)

    def predict_on(self, features, device):
        """A module that predicts by itself leaves its results to nobody who differentiates."""
        found = []
        for x in features.to(device):
            found.append(self(x[None]).detach().cpu().numpy())  # expect: no-grad-missing-in-eval
        return np.vstack(found)
