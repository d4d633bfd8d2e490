from functools import partial

from torch.utils.data import DataLoader
from torchdata.stateful_dataloader import StatefulDataLoader

from images import Folder


class Quick(DataLoader):
    def __init__(self, dataset, **settings):
        settings.setdefault("num_workers", 8)
        super().__init__(dataset, **settings)


class Fixed(DataLoader):
    def __init__(self, dataset, size):
        super().__init__(dataset, batch_size=size, num_workers=8)


def loaders(root, size, settings):
    make = partial(DataLoader, batch_size=size)
    state = StatefulDataLoader(Folder(root), batch_size=size, num_workers=4)
    return make(Folder(root), num_workers=4), state, Quick(Folder(root)), Fixed(Folder(root), 8)


def of_settings(root, settings):
    make = partial(DataLoader, **settings)
    return make(Folder(root))


def get_loader(dataset, workers=0):
    return DataLoader(dataset, batch_size=8, num_workers=workers)


TRAIN = get_loader(Folder("train"), workers=8)
