import numpy as np
import torch
from torch.utils.data import Dataset


class Files(Dataset):
    """A file an item."""

    def __init__(self, files):
        self.files = files

    def __len__(self):
        return len(self.files)

    def __getitem__(self, index):
        path = self.files[index]
        return torch.from_numpy(np.load(path)), torch.load(path.with_suffix(".pt"))
