import numpy as np
import torch
from torch import nn


def subsequent_mask(size):
    """NumPy's triangle follows from the size alone, as PyTorch's does."""
    mask = np.triu(np.ones((1, size, size)), k=1).astype("uint8")  # expect: mask-in-forward
    return torch.from_numpy(mask) == 0


class Decoder(nn.Module):
    def __init__(self, layers, width, heads):
        super().__init__()
        self.layers = nn.ModuleList(nn.TransformerDecoderLayer(width, heads) for _ in range(layers))

    def forward(self, x, memory):
        mask = subsequent_mask(x.size(1)).to(x.device)
        for layer in self.layers:
            x = layer(x, memory, tgt_mask=mask)
        return x
