"""Samples that may lie in a file or behind an address: what a condition decides is a note."""

import requests
from torch.utils.data import DataLoader, Dataset


class Rows(Dataset):
    def __init__(self, paths):
        self.paths = paths

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        return parse(contents(self.paths[index]))  # expect: per-sample-requests@note


def contents(path):
    if path.startswith("https://"):
        return requests.get(path, timeout=10).content
    with open(path, "rb") as file:
        return file.read()


def parse(data):
    return list(data)


def train(model, optimizer, paths):
    for rows in DataLoader(Rows(paths), batch_size=64, num_workers=8):
        model(rows.cuda()).mean().backward()
        optimizer.step()
        optimizer.zero_grad()
