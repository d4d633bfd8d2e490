"""Loaders that are built here and gone through elsewhere: kept, given back, and handed to a library's trainer."""

from torch.utils.data import DataLoader, Dataset

from pictures import Trainer, read


class Pictures(Dataset):
    def __init__(self, folder):
        self.paths = sorted(folder.iterdir())

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, n):
        return read(self.paths[n])


class Feeder:
    def __init__(self, folder, workers):
        self.train_loader = DataLoader(Pictures(folder), shuffle=True, num_workers=workers)  # expect: loader-not-persistent@note
        self.folder, self.workers = folder, workers

    def val_dataloader(self):
        return DataLoader(Pictures(self.folder / "val"), num_workers=self.workers)  # expect: loader-not-persistent@note


def get_loaders(options):
    train = DataLoader(Pictures(options.folder), num_workers=options.workers)  # expect: loader-not-persistent@note
    val = DataLoader(Pictures(options.folder / "val"), num_workers=options.workers)  # expect: loader-not-persistent@note
    return train, val


def main(options):
    pictures = DataLoader(Pictures(options.folder), shuffle=True, num_workers=8)  # expect: loader-not-persistent@note
    Trainer(options).fit(pictures)
