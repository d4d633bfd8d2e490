"""What a module makes when it is not told to train is made for each batch of an evaluation: worth a note."""

import torch
from torch import nn


class Decoder(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.size = size
        self.cell = nn.GRUCell(size, size)

    def forward(self, x):
        if not self.training:
            hidden = torch.zeros(x.shape[0], self.size).to(x.device)  # expect: cpu-tensor-then-move@note
            return self.cell(x, hidden)
        return self.cell(x, x)


def train(loader, optimizer):
    decoder = Decoder(8).cuda()
    for x in loader:
        loss = decoder(x.cuda()).mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
