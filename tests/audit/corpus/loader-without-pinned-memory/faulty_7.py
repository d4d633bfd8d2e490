"""A data module that says nothing of devices: the trainer that goes through it moves its batches to one."""

from lightning import LightningDataModule
from torch.utils.data import DataLoader, Dataset

from pictures import read


class Pictures(Dataset):
    def __init__(self, folder):
        self.paths = sorted(folder.iterdir())

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, n):
        return read(self.paths[n])


class Data(LightningDataModule):
    def __init__(self, folder, workers):
        super().__init__()
        self.folder, self.workers = folder, workers

    def train_dataloader(self):
        return DataLoader(Pictures(self.folder), shuffle=True, num_workers=self.workers)  # expect: loader-without-pinned-memory@note

    def val_dataloader(self):
        return DataLoader(Pictures(self.folder / "val"), num_workers=self.workers)  # expect: loader-without-pinned-memory@note
