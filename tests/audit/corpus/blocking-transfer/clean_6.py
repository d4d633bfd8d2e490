import torch
from torch.utils.data import DataLoader


def get_loader(dataset, size, pin_memory=False):
    return DataLoader(dataset, batch_size=size, num_workers=4, pin_memory=pin_memory)


def train(model, dataset, optimizer):
    """Nobody asks for pinned batches: the copy waits in any case."""
    for x in get_loader(dataset, 8):
        model(x.cuda()).mean().backward()
        optimizer.step()
        optimizer.zero_grad()
