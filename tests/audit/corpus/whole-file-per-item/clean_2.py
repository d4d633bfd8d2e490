import numpy as np
import torch
from torch.utils.data import Dataset


class Mapped(Dataset):
    """A map reads what is touched; a file opened once is kept."""

    def __init__(self, path, length):
        self.path, self.length = path, length
        self.array = None

    def __len__(self):
        return self.length

    def __getitem__(self, index):
        data = np.load(self.path, mmap_mode="r")
        if self.array is None:
            self.array = np.load(self.path)
        return torch.from_numpy(data[index].copy()), self.array[index]
