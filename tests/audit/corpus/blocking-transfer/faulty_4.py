import torch
from far import endless, progress
from torch.utils.data import DataLoader


def again(loader):
    while True:
        for batch in loader:
            yield batch


class Trainer:
    def __init__(self, dataset, model, optimizer, device):
        loader = DataLoader(dataset, batch_size=64, num_workers=8, pin_memory=True)
        self.mine, self.theirs = again(loader), endless(loader)
        self.loader = endless(loader)
        self.whole = loader
        self.model, self.optimizer, self.device = model.to(device), optimizer, device

    def step(self):
        images = next(self.mine).cuda(self.device)  # expect: blocking-transfer
        others = next(self.loader).to(self.device)  # expect: blocking-transfer
        self.model(images, others).mean().backward()
        self.optimizer.step()
        self.optimizer.zero_grad()

    def train(self, steps):
        for _ in range(steps):
            self.step()

    def train_all(self):
        for images, labels in progress.every(10, ("train", self.whole)):
            loss = self.model(images.to(self.device), labels)  # expect: blocking-transfer
            loss.mean().backward()
            self.optimizer.step()
            self.optimizer.zero_grad()
