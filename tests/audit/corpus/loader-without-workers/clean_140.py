"""Dicts that are unpacked and bring workers by one way or another, or of which nobody knows what they bring."""

import torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset

from feeds import RATES, amend

SHARED = {"batch_size": 64, "num_workers": 8}
GROWING = {"batch_size": 64}
GROWING.update(SHARED)
HANDED = {"batch_size": 64}
HANDED.update(RATES)


class Scans(Dataset):
    def __init__(self, paths):
        self.paths = paths

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, n):
        return Image.open(self.paths[n])


def options(shuffle, fast):
    return dict(SHARED, shuffle=shuffle) if fast else dict(SHARED)


def amended(paths, batch_size=4):
    return dict(amend(paths), batch_size=batch_size)


class Feed:
    def __init__(self, paths, **more):
        self.paths = paths
        self.kept = {"batch_size": 8}
        if len(paths) > 100:
            self.kept["num_workers"] = 4
        self.more = more
        self.key = {"batch_size": 8}
        self.key[paths[0]] = 4

    @property
    def settings(self):
        return {**self.kept, "pin_memory": True}

    def loaders(self):
        yield DataLoader(Scans(self.paths), **self.kept)
        yield DataLoader(Scans(self.paths), **self.settings)
        yield DataLoader(Scans(self.paths), **self.more)
        yield DataLoader(Scans(self.paths), **self.key)


def every(paths, GROWN=SHARED, **options_given):
    for one in ({"num_workers": 4}, {"num_workers": 8}):
        yield DataLoader(Scans(paths), **one)
    popped = dict(SHARED)
    popped.pop("timeout", None)
    yield DataLoader(Scans(paths), **popped)
    yield DataLoader(Scans(paths), **GROWING)
    yield DataLoader(Scans(paths), **HANDED)
    yield DataLoader(Scans(paths), **GROWN)
    yield DataLoader(Scans(paths), **options(True, True))
    yield DataLoader(Scans(paths), **amended(paths))
    yield DataLoader(Scans(paths), **options_given)
    yield DataLoader(Scans(paths), **SHARED | {"shuffle": True})
    yield DataLoader(Scans(paths), **({"num_workers": 4} if torch.cuda.is_available() else {}))
