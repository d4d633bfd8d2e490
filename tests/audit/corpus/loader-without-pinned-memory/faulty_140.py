"""A dict that two loaders share says that nothing is pinned: there it is to be changed."""

import torch
from torch.utils.data import DataLoader

from images import Images


class Module:
    def __init__(self, root, workers):
        self.train_set, self.valid_set = Images(root, "train"), Images(root, "valid")
        self.shared = dict(
            num_workers=workers,
            pin_memory=False,
        )

    def loaders(self):
        return DataLoader(self.train_set, shuffle=True, **self.shared), DataLoader(self.valid_set, **self.shared)  # expect: loader-without-pinned-memory@note


def train(model, optimizer, module):
    for x, y in module.loaders()[0]:
        loss = torch.nn.functional.cross_entropy(model(x.cuda()), y.cuda())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
