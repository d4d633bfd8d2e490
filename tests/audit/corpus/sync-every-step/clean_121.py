import torch
from torch import nn


def train(encoder, loader, optimizer, device="cuda"):
    encoder = encoder.to(device)
    for number, x in enumerate(loader):
        x = x.to(device)
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(encoder(x), x)
        loss.backward()
        optimizer.step()
        if number % 100 == 0:
            print(loss.item())


def search(space, optimizer, trials):
    found = []
    for _ in range(trials):
        point = optimizer.ask(space)
        optimizer.step(point)
        found.append(point.item())
    return found
