import torch
from torch import nn


def train(model: nn.Sequential, loader, first, second, device, in_turns):
    total = 0.0
    for i, x in enumerate(loader):
        if in_turns:
            if i % 2 == 0:
                first.zero_grad()
                x = x.to(device)
                y = model(x)
                loss = (y - 1).square().mean()
                loss.backward(retain_graph=True)  # expect: retain-graph-every-step
                first.step()
                total += loss.item()
            else:
                second.zero_grad()
                x = x.to(device)
                y = model(x)
                loss = (y + 1).square().mean()
                loss.backward(retain_graph=True)  # expect: retain-graph-every-step
                second.step()
        else:
            loss = model(x.to(device)).abs().mean()
            loss.backward()
            first.step()
    return total


def one_after_another(model: nn.Sequential, loader, first, second, often, device):
    for i, x in enumerate(loader):
        if i % often:
            first.zero_grad()
            loss = model(x.to(device)).square().mean()
            loss.backward(retain_graph=True)  # expect: retain-graph-every-step@note
            first.step()
        if i % often != 1:
            second.zero_grad()
            loss = model(x.to(device)).abs().mean()
            loss.backward()
            second.step()
