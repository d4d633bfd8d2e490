import torch
from torch import nn


def train(generator: nn.Sequential, critic: nn.Sequential, loader, first, second, every):
    for i, x in enumerate(loader):
        if i % every == 0:
            first.zero_grad()
            fake = generator(x)
            loss = critic(fake).mean() - critic(x).mean()
            loss.backward(retain_graph=True)
            first.step()
        second.zero_grad()
        (-critic(fake).mean()).backward()
        second.step()


def both(model: nn.Sequential, loader, optimizer, aux):
    for x in loader:
        y = model(x)
        if aux:
            loss = y.square().mean()
            loss.backward(retain_graph=True)
        y.abs().mean().backward()
        optimizer.step()
