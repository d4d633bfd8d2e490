import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(8, 8) for _ in range(4))
        for p in self.parameters():
            p.data.normal_(0, 0.02)


@torch.no_grad()
def initialise(model):
    for p in model.parameters():
        p.mul_(0.5)


@torch.no_grad()
def ema(shadow, model, decay):
    torch._foreach_lerp_(list(shadow.parameters()), list(model.parameters()), 1 - decay)


def train(model, shadow, loader, optimizer):
    initialise(model)
    for p in model.parameters():
        p.requires_grad_(True)
    for x in loader:
        model(x.cuda()).mean().backward()
        optimizer.step()
        optimizer.zero_grad()
        ema(shadow, model, 0.99)
