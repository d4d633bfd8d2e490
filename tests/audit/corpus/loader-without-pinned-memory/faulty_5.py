import torch
from torch.utils.data import DataLoader
from torchdata.stateful_dataloader import StatefulDataLoader

from images import Folder

DEVICE = torch.device("cuda")


class Endless(DataLoader):
    def __iter__(self):
        while True:
            yield from super().__iter__()


train = Endless(Folder("train"), batch_size=8, num_workers=4)  # expect: loader-without-pinned-memory
test = StatefulDataLoader(Folder("test"), 8, num_workers=4)  # expect: loader-without-pinned-memory
