"""A data module for the processor, as the file says, and a loader of which nothing tells that anybody trains by it."""

import torch
from lightning import LightningDataModule
from torch.utils.data import DataLoader, Dataset

from pictures import read

DEVICE = torch.device("cpu")


class Pictures(Dataset):
    def __init__(self, folder):
        self.paths = sorted(folder.iterdir())

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, n):
        return read(self.paths[n])


class Data(LightningDataModule):
    def __init__(self, folder):
        super().__init__()
        self.folder = folder

    def train_dataloader(self):
        return DataLoader(Pictures(self.folder), shuffle=True, num_workers=4)


def oracle(folder):
    return DataLoader(Pictures(folder), num_workers=4)
