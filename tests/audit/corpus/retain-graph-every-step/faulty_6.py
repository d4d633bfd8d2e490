"""One backward pass a turn, in one of two arms, and in layers that make their own graphs."""

import torch
from torch import nn


def train(model: nn.Sequential, loader, optimizer, scaler, device, mixed):
    for x, y in loader:
        x, y = x.to(device), y.to(device)
        optimizer.zero_grad()
        loss = (model(x) - y).square().mean()
        if mixed:
            scaler.scale(loss).backward(retain_graph=True)  # expect: retain-graph-every-step
            scaler.step(optimizer)
            scaler.update()
        else:
            loss.backward(retain_graph=True)  # expect: retain-graph-every-step
            optimizer.step()


def plain_step(model: nn.Sequential, batch, optimizer):
    loss = model(batch).square().mean()
    optimizer.zero_grad()
    loss.backward(retain_graph=True)  # expect: retain-graph-every-step
    optimizer.step()


def scaled_step(model: nn.Sequential, batch, optimizer, scaler):
    loss = model(batch).square().mean()
    scaler.scale(loss).backward()
    scaler.step(optimizer)


def by_way(model: nn.Sequential, loader, optimizer, scaler, way):
    for batch in loader:
        if way == "plain":
            plain_step(model, batch, optimizer)
        else:
            scaled_step(model, batch, optimizer, scaler)


class Reversible(nn.Module):
    def backward_pass(self, y, dy, x):
        with torch.enable_grad():
            y.requires_grad = True
            out = self.f(y)
            torch.autograd.backward(out, dy, retain_graph=True)  # expect: retain-graph-every-step@note
        with torch.no_grad():
            return x - out, dy + y.grad
