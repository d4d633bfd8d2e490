from functools import partial

import torch
from torch.utils.data import DataLoader
from torchdata.stateful_dataloader import StatefulDataLoader

from images import Folder


class Repeated(DataLoader):
    """Keeps its workers from epoch to epoch."""

    def __iter__(self):
        while True:
            yield from super().__iter__()


class Balanced(torch.utils.data.DataLoader):
    def __init__(self, dataset, batch_size):
        sampler = torch.utils.data.RandomSampler(dataset)
        super().__init__(dataset, batch_size=batch_size, sampler=sampler)  # expect: loader-without-workers


def loaders(root, size):
    train = Repeated(Folder(root / "train"), batch_size=size, shuffle=True)  # expect: loader-without-workers
    state = StatefulDataLoader(Folder(root), batch_size=size, shuffle=True)  # expect: loader-without-workers
    make = partial(DataLoader, batch_size=size, num_workers=0)  # expect: loader-without-workers
    return train, state, make(Folder(root / "test"))
