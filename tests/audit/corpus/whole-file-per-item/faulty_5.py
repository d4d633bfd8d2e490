import h5py
import torch
from torch.utils import data


def read_crop(path, key, number):
    with h5py.File(path, "r") as file:  # expect: whole-file-per-item@note
        return file[key][number]


class Volumes(data.Dataset):
    """One HDF5 file holds all volumes."""

    def __init__(self, path, names):
        super().__init__()
        self.path = path
        self.names = names

    def __getitem__(self, item):
        scan = read_crop(self.path, "scans", item)
        mask = read_crop(self.path, "masks", item)
        return torch.as_tensor(scan), torch.as_tensor(mask)

    def __len__(self):
        return len(self.names)
