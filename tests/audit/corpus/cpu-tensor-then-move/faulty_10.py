import math

import torch
from torch import nn


def embed_times(timesteps, width):
    half = width // 2
    table = torch.exp(torch.arange(half, dtype=torch.float32) * -(math.log(10000) / (half - 1)))
    table = table.to(device=timesteps.device)  # expect: cpu-tensor-then-move@warning
    return timesteps.float()[:, None] * table[None, :]


class Denoiser(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.width = width
        self.body = nn.Linear(width, width)

    def forward(self, x, timesteps):
        return self.body(x + embed_times(timesteps, self.width))

    def contrast(self, a, b):
        logits = a @ b.T
        labels = torch.zeros(len(a)).to(logits.device).long()  # expect: cpu-tensor-then-move@note
        return nn.functional.cross_entropy(logits, labels)


def train(model, loader, args, optimizer):
    for x, t in loader:
        loss = (model(x.cuda(), t.cuda()).mean(0) * torch.tensor(args.weights).cuda()).sum()  # expect: cpu-tensor-then-move
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
