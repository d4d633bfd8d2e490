import torch
from torch import autograd


def train(model, loader, optimizer):
    for x in loader:
        with autograd.detect_anomaly():  # expect: anomaly-mode@warning
            model(x.cuda()).mean().backward()
        optimizer.step()
        optimizer.zero_grad()
