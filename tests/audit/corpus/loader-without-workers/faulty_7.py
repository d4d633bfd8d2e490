import torch
from PIL import Image
from torch.utils.data import DataLoader as Plain
from torch.utils.data import Dataset, random_split


class Pictures(Dataset):
    def __init__(self, paths, transform):
        self.paths = paths
        self.transform = transform

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        return self.transform(Image.open(self.paths[index]))


class BoxLoader(Plain):
    def __init__(self, dataset, **options):
        super().__init__(dataset, collate_fn=list, **options)


def make(paths, transform, device):
    train, check = random_split(Pictures(paths, transform), [900, 100])
    options = {"batch_size": 8}
    options["shuffle"] = True
    return (
        BoxLoader(train, shuffle=True),  # expect: loader-without-workers
        Plain(check, **options),  # expect: loader-without-workers
    )


def fit(model, paths, transform, optimizer, device):
    for pictures in make(paths, transform, device)[0]:
        loss = model(torch.stack(pictures).to(device)).mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
