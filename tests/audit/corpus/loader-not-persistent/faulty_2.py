import torch
from torch.utils import data


class Training:
    def __init__(self, dataset, holdout, network):
        self.train = data.DataLoader(dataset, 64, True, num_workers=12, pin_memory=True, persistent_workers=False)  # expect: loader-not-persistent
        self.network = network.cuda()
        self.optimizer = torch.optim.Adam(self.network.parameters())

    def epoch(self):
        for x in self.train:
            self.network(x.cuda(non_blocking=True)).mean().backward()
            self.optimizer.step()
            self.optimizer.zero_grad()

    def fit(self, epochs):
        for _ in range(epochs):
            self.epoch()
