"""The like of those: for a test, for a look at the data, without workers, of what lies in memory, with workers kept."""

import torch
from torch.utils.data import DataLoader, Dataset, TensorDataset

from pictures import Trainer, read


class Pictures(Dataset):
    def __init__(self, folder):
        self.paths = sorted(folder.iterdir())

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, n):
        return read(self.paths[n])


def test_dataloader(options):
    return DataLoader(Pictures(options.folder / "test"), num_workers=options.workers)


def train_loader_of_numbers(numbers):
    return DataLoader(TensorDataset(torch.as_tensor(numbers)), shuffle=True, num_workers=2)


def train_loader_alone(options):
    return DataLoader(Pictures(options.folder), shuffle=True, num_workers=0)


def train_loader(options):
    return DataLoader(Pictures(options.folder), shuffle=True, num_workers=8, persistent_workers=True)


def mean_of(options):
    demo = DataLoader(Pictures(options.folder), shuffle=True, num_workers=8)
    return demo


def predict(options, model):
    parts = DataLoader(Pictures(options.folder), num_workers=8)
    return [model(each) for each in parts]
