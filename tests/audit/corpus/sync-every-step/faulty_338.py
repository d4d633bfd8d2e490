"""Batches that nobody is seen to move lie where the model does: what it gives of them is waited for."""

import torch
import torch.nn.functional as F
from dgl.dataloading import DataLoader
from torch import nn


class Sage(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(8, 8) for _ in range(3))

    def forward(self, blocks, x):
        h = x
        for number, layer in enumerate(self.layers):
            h = layer(h)
            if number != len(self.layers) - 1:
                h = F.relu(h)
        return h


def train(graph, seeds, sampler, device):
    model = Sage().to(device)
    loader = DataLoader(graph, seeds, sampler, device=device, num_workers=4)
    optimizer = torch.optim.Adam(model.parameters())
    total = 0.0
    for inputs, outputs, blocks in loader:
        loss = F.cross_entropy(model(blocks, blocks[0].srcdata["feat"]), blocks[-1].dstdata["label"])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()  # expect: sync-every-step@note
    return total
