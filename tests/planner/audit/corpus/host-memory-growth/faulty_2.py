import numpy as np
import torch


class Memory:
    """A map of a file is opened for each batch and kept."""

    def __init__(self, path, length):
        self.path, self.length = path, length
        self.views = []

    def batch(self, size):
        data = np.memmap(self.path, dtype=np.uint16, mode="r")
        starts = np.random.randint(0, len(data) - self.length, size)
        self.views.append(data)  # expect: host-memory-growth
        return torch.stack([torch.from_numpy(data[s : s + self.length].astype(np.int64)) for s in starts])


def train(model, optimizer, memory, steps):
    for _ in range(steps):
        x = memory.batch(64).cuda(non_blocking=True)
        model(x).mean().backward()
        optimizer.step()
        optimizer.zero_grad()
