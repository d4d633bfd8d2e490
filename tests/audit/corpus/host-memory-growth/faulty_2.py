import numpy as np
import torch


class Tokens:
    """The map is opened once, and stays open while every step reads other places of it."""

    def __init__(self, path, length):
        self.data = np.memmap(path, dtype=np.uint16, mode="r")  # expect: host-memory-growth@note
        self.length = length

    def draw(self, size):
        starts = np.random.randint(0, len(self.data) - self.length, size)
        return torch.stack([torch.from_numpy(self.data[s : s + self.length].astype(np.int64)) for s in starts])


def train(model, optimizer, path, steps):
    tokens = Tokens(path, 1024)
    for _ in range(steps):
        x = tokens.draw(64).cuda(non_blocking=True)
        model(x).mean().backward()
        optimizer.step()
        optimizer.zero_grad()
