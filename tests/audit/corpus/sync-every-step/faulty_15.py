"""The loop stands in a base class, each of whose heirs says what a turn does; a buffer lies where its module does."""

import torch
from torch import nn


class Epoch:
    def __init__(self, model, loss, optimizer):
        self.model = model.cuda()
        self.loss = loss
        self.optimizer = optimizer

    def turn(self, picture, kind):
        raise NotImplementedError

    def run(self, loader):
        seen = []
        for picture, kind in loader:
            loss, given = self.turn(picture.cuda(), kind.cuda())
            seen.append(loss.cpu().detach().numpy())  # expect: sync-every-step
            print(given.cpu().numpy())  # expect: sync-every-step
        return seen


class Training(Epoch):
    def turn(self, picture, kind):
        self.optimizer.zero_grad()
        given = self.model(picture)
        loss = self.loss(given, kind)
        loss.backward()
        self.optimizer.step()
        return loss, given


class Validation(Epoch):
    def turn(self, picture, kind):
        with torch.no_grad():
            given = self.model(picture)
            return self.loss(given, kind), given


def refuse(value):
    if torch.isnan(value):  # expect: sync-every-step@note
        raise ValueError(value)


class Fitter(nn.Module):
    def __init__(self, net, optimizer):
        super().__init__()
        self.net = net
        self.optimizer = optimizer
        self.register_buffer("steps", torch.tensor(0))

    def load(self, path):
        self.steps = torch.load(path)["steps"].to("cuda")

    def train_step(self, picture):
        loss = self.net(picture).mean()
        refuse(self.judge(loss))
        loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad()
        if int(self.steps.item()) > 10:  # expect: sync-every-step@note
            self.save(int(self.steps.item()))  # expect: sync-every-step@note
        self.steps += 1
