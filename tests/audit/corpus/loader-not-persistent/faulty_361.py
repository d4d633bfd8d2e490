"""Methods without an instance, as they were written before decorators: called by their class."""

import torch
from pictures import Pictures
from torch.utils.data import DataLoader


class Trainer:
    def train(path, epochs):
        model = torch.nn.Linear(8, 8).cuda()
        optimizer = torch.optim.Adam(model.parameters())
        loader = DataLoader(Pictures(path), batch_size=64, num_workers=24, pin_memory=True)  # expect: loader-not-persistent@note
        for epoch in range(epochs):
            Trainer.epoch(model, loader, optimizer)

    def epoch(model, loader, optimizer):
        for x, y in loader:
            x, y = x.cuda(non_blocking=True), y.cuda(non_blocking=True)
            loss = (model(x) - y).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
