"""The data set gives names alone: files are read where batches are put together."""

import soundfile
import torch
from torch.utils.data import DataLoader, Dataset


class Names(Dataset):
    def __init__(self, names):
        self.names = names

    def __len__(self):
        return len(self.names)

    def __getitem__(self, index):
        return self.names[index]


def collate(names):
    return torch.stack([heard(each) for each in names])


def heard(name):
    wave, _ = soundfile.read(name)
    return torch.from_numpy(wave)


class Loading:
    def __init__(self, names, num_workers=0):
        self.loader = DataLoader(Names(names), batch_size=8, num_workers=num_workers, collate_fn=collate)  # expect: loader-without-workers@note
