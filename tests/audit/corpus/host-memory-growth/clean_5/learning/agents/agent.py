import collections

import torch
from torch import nn


class Agent:
    """Keeps the last values alone: in a package, `collections` is Python's."""

    def __init__(self, model: nn.Module, optimizer):
        self.model = model.cuda()
        self.optimizer = optimizer
        self.record = collections.deque(maxlen=1000)

    def train(self, train_loader):
        for x, y in train_loader:
            out = self.model(x.cuda())
            loss = nn.functional.mse_loss(out, y.cuda())
            self.record.extend(out.detach().cpu().numpy())
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
        return torch.cuda.memory_allocated()
