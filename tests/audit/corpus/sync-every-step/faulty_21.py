"""What is asked for its truth lies on the device."""

import torch
from torch import nn


class Unsound(Exception):
    pass


def refuse_nan(value):
    if torch.isnan(value):  # expect: sync-every-step
        raise Unsound


def check(name, tensor):
    assert not torch.isinf(tensor).any(), name  # expect: sync-every-step


class Attention(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.out = nn.Linear(width, width)

    def forward(self, x, mask=None, focus=None):
        if focus is not None and focus.all():  # expect: sync-every-step@note
            return self.out(x)
        if mask is not None and not mask.any():  # expect: sync-every-step@note
            return x
        return self.out(x * mask)


class Trainer:
    def __init__(self, net, optimizer):
        self.net, self.optimizer = net, optimizer

    def train(self, x, y):
        out = self.net(x.cuda())
        loss = (out - y.cuda()).abs().mean()
        refuse_nan(loss)
        check("out", out)
        loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad()
