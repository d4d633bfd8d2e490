import random
from functools import lru_cache

import h5py
import numpy as np
import pandas as pd
import torch
from torch.utils.data import Dataset


class OnePerFile(Dataset):
    """A sample is a file; nothing is read twice."""

    def __init__(self, files, labels):
        self.files, self.labels = files, labels

    def __len__(self):
        return len(self.files)

    def _read(self, path):
        return np.load(path)["image"]

    def _stack(self, index):
        return np.stack([np.load(part) for part in self.files[index]])

    def _other(self):
        other = random.choice(self.files)
        return np.load(other)

    def __getitem__(self, index):
        image = self._read(self.files[index])
        name = self.files[index]
        for view in (f"{name}.left.npy", f"{name}.right.npy"):
            image = image + np.load(view)
        if random.random() < 0.5:
            image = image + self._other()
        return torch.from_numpy(image), self.labels[index]


class KeptOpen(Dataset):
    """The file is opened once in each worker."""

    def __init__(self, path, length):
        self.path, self.length = path, length
        self.file = None

    def _open(self):
        if self.file is None:
            self.file = h5py.File(self.path, "r")
        return self.file

    def __getitem__(self, index):
        return torch.from_numpy(self._open()["x"][index])

    def __len__(self):
        return self.length


@lru_cache(maxsize=1)
def table(path):
    return pd.read_csv(path)


class Rows(Dataset):
    def __init__(self, path, length):
        self.path, self.length = path, length

    def __getitem__(self, index):
        return table(self.path).iloc[index].to_numpy()

    def __len__(self):
        return self.length
