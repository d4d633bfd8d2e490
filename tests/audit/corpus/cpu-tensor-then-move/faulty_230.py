import numpy as np
import torch
from torch import nn


def angle_table(places, width):
    """Computed by NumPy, of two numbers."""
    table = np.array([[place / np.power(10000, 2 * (i // 2) / width) for i in range(width)] for place in range(places)])
    table[:, 0::2] = np.sin(table[:, 0::2])
    table[:, 1::2] = np.cos(table[:, 1::2])
    return torch.FloatTensor(table)


def wave_table(places, width):
    table = torch.zeros(places, width)
    angles = torch.arange(places).unsqueeze(1) / width
    table[:, 0::2] = torch.sin(angles)
    table[:, 1::2] = torch.cos(angles)
    return table.unsqueeze(0)


class Encoder(nn.Module):
    def forward(self, x):
        x = x + angle_table(x.shape[1], x.shape[2])[: x.shape[1]].unsqueeze(0).to(x.device)  # expect: cpu-tensor-then-move
        table = wave_table(x.size(1), self.width)
        return x + table.to(x.device)  # expect: cpu-tensor-then-move


def assignment_loss(scores, double, on_gpu):
    rows, columns = scores.shape
    r = torch.ones(rows) / rows
    c = torch.ones(columns) / columns
    if double:
        r, c = r.double(), c.double()
    if on_gpu:
        r = r.cuda(non_blocking=True)  # expect: cpu-tensor-then-move@note
        c = c.cuda(non_blocking=True)  # expect: cpu-tensor-then-move@note
    return (scores * r.unsqueeze(1) * c).sum()


def perturbed_step(model, batch, alpha):
    shape = batch["features"].shape
    noise = torch.FloatTensor(shape).uniform_(-alpha, alpha).to(batch["features"].device)  # expect: cpu-tensor-then-move@note
    return model(batch["features"] + noise)
