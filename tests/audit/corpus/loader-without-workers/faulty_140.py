"""What is unpacked into a loader is written elsewhere: in the module, the object, a function, another dict."""

import torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset

SHARED = {"batch_size": 64, "drop_last": True}
NONE: dict[str, object] = dict(batch_size=64, num_workers=0)


class Scans(Dataset):
    def __init__(self, paths):
        self.paths = paths

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, n):
        return Image.open(self.paths[n])


def options(shuffle):
    return dict(SHARED, shuffle=shuffle)


class Feed:
    extra = {"drop_last": False}

    def __init__(self, paths, workers=0):
        self.paths = paths
        self.kept = {"batch_size": 8}
        self.kept["shuffle"] = True
        self.few = {"batch_size": 8, "num_workers": workers}

    @property
    def settings(self):
        return {**self.kept, "pin_memory": True}

    def train(self):
        return DataLoader(Scans(self.paths), **self.kept)  # expect: loader-without-workers@note

    def valid(self):
        return DataLoader(Scans(self.paths), **self.settings)  # expect: loader-without-workers@note

    def test(self):
        return DataLoader(Scans(self.paths), **self.extra)  # expect: loader-without-workers@note

    def told(self):
        return DataLoader(Scans(self.paths), shuffle=True, **self.few), DataLoader(Scans(self.paths), **self.few)  # expect: loader-without-workers@note


def every(paths):
    merged = SHARED | {"shuffle": True}
    longer = SHARED.copy()
    longer.update(shuffle=True, timeout=60)
    return (
        DataLoader(Scans(paths), **SHARED),  # expect: loader-without-workers@note
        DataLoader(Scans(paths), shuffle=True, **NONE),  # expect: loader-without-workers@note
        DataLoader(Scans(paths), **options(True)),  # expect: loader-without-workers@note
        DataLoader(Scans(paths), **merged),  # expect: loader-without-workers@note
        DataLoader(Scans(paths), **longer),  # expect: loader-without-workers@note
    )


def train(model, optimizer, paths):
    for images in every(paths)[0]:
        loss = model(images.cuda()).mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
