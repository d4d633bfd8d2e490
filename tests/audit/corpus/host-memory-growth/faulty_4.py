import numpy as np
import torch


class Tokens(torch.utils.data.Dataset):
    def __init__(self, path, length):
        self.data = np.memmap(path, dtype=np.uint16, mode="r")
        self.length = length
        self.cache = {}

    def __len__(self):
        return len(self.data) // self.length

    def __getitem__(self, index):
        if index not in self.cache:
            piece = self.data[index * self.length : (index + 1) * self.length]
            self.cache[index] = torch.from_numpy(piece.astype(np.int64))  # expect: host-memory-growth
        return self.cache[index]
