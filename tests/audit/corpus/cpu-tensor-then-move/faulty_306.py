import numpy as np
import torch
from torch import nn


class Positions(nn.Module):
    def __init__(self, size, width, device):
        super().__init__()
        self.embedding = nn.Embedding(size, width)
        self.device = device

    def forward(self, ids):
        places = np.tile(np.array(range(ids.shape[1])), [ids.shape[0], 1])
        return self.embedding(torch.as_tensor(places, dtype=torch.long).to(self.device))  # expect: cpu-tensor-then-move
