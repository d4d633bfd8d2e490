"""Tensors made behind a check of arguments, and tables that the file's own functions compute on the host."""

import numpy as np
import torch


def by_class(spikes, classes, size):
    if size % classes:
        raise ValueError(f"{classes} classes do not divide {size} outputs")
    device = spikes.device
    counts = torch.zeros(spikes.size(1), classes).to(device)  # expect: cpu-tensor-then-move
    for number in range(classes):
        counts[:, number] = spikes[:, :, number::classes].sum((0, 2))
    return counts


def lengths_to_mask(lengths):
    longest = max(lengths)
    return torch.arange(longest).expand(len(lengths), longest) < torch.tensor(lengths).unsqueeze(1)


class Loss(torch.nn.Module):
    def forward(self, scores, lengths: list[int]):
        mask = lengths_to_mask(lengths)
        return (scores * mask.to(scores.device)).sum()  # expect: cpu-tensor-then-move@note
