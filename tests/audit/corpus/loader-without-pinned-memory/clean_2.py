import torch
from torch.utils.data import DataLoader


def loaders(dataset, options, cuda):
    pinned = DataLoader(dataset, batch_size=64, num_workers=4, pin_memory=torch.cuda.is_available())
    positional = DataLoader(dataset, 64, True, None, None, 4, None, True)
    unknown = DataLoader(dataset, **options)
    by_flag = DataLoader(dataset, batch_size=64, num_workers=4, pin_memory=cuda)
    return pinned, positional, unknown, by_flag


def main(dataset, options, model, optimizer):
    for loader in loaders(dataset, options, True):
        for x in loader:
            model(x.cuda(non_blocking=True)).mean().backward()
            optimizer.step()
