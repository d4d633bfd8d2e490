import os

from torch.utils.data import DataLoader


def main(dataset, model, optimizer):
    workers = min(8, os.cpu_count() or 1)
    for x in DataLoader(dataset, 64, True, None, None, workers):
        model(x.cuda()).mean().backward()
        optimizer.step()
        optimizer.zero_grad()
