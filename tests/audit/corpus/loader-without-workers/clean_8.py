"""The like of that, where somebody asks for workers, or counts them, or the default is to have some."""

import os

from torch.utils.data import DataLoader, Dataset

from pictures import read


class Pictures(Dataset):
    def __init__(self, folder):
        self.paths = sorted(folder.iterdir())

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, n):
        return read(self.paths[n])


def get_loader(folder, size, num_workers=0):
    return DataLoader(Pictures(folder), batch_size=size, shuffle=True, num_workers=num_workers)


def main(folder, options):
    return get_loader(folder, 8, options.workers)


def counted(folder, num_workers=0):
    num_workers = num_workers or os.cpu_count()
    return DataLoader(Pictures(folder), batch_size=8, num_workers=num_workers)


def with_some(folder, num_workers=4):
    return DataLoader(Pictures(folder), batch_size=8, num_workers=num_workers)
