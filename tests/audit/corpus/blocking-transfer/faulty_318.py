"""Loaders under the names of phases are handed over: what they give are batches, and all that are made pin them."""

import torch
from torch.utils.data import DataLoader


def loaders_of(datasets, size):
    return {phase: DataLoader(each, size, num_workers=4, pin_memory=True) for phase, each in datasets.items()}


class Run:
    def __init__(self, model, criterion, optimizer, make_loaders, options):
        self.device = torch.device("cuda")
        self.model = model.to(self.device)
        self.criterion, self.optimizer = criterion, optimizer
        self.loaders = make_loaders(**options)

    def epoch(self, phase):
        for images, labels in self.loaders[phase]:
            images = images.to(self.device)  # expect: blocking-transfer
            labels = labels.to(self.device)  # expect: blocking-transfer
            loss = self.criterion(self.model(images), labels)
            if phase == "train":
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()


def epoch(model, criterion, optimizer, dl):
    device = torch.device("cuda")
    model.to(device)
    for images, labels in dl:
        images = images.to(device)  # expect: blocking-transfer
        loss = criterion(model(images), labels.to(device))  # expect: blocking-transfer
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
