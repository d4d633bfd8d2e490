"""Tensors made on the host behind a check of arguments, which says nothing of how often the rest runs."""

import torch


def by_class(spikes, classes, size):
    if size % classes:
        raise ValueError(f"{classes} classes do not divide {size} outputs")
    device = spikes.device
    counts = torch.zeros(spikes.size(1), classes).to(device)  # expect: cpu-tensor-then-move
    for number in range(classes):
        counts[:, number] = spikes[:, :, number::classes].sum((0, 2))
    return counts
