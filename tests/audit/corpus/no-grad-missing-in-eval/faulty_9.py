import torch
from torch import nn


def accuracy(model, batches, device):
    right = count = 0
    for x, y in batches:
        guess = model(x.to(device)).argmax(dim=-1)  # expect: no-grad-missing-in-eval
        right += (guess == y.to(device)).sum().item()
        count += len(y)
    return right / count


def fit(model: nn.Module, loader, held_out, optimizer, device):
    for epoch in range(10):
        model.train()
        for x, y in loader:
            loss = nn.functional.cross_entropy(model(x.to(device)), y.to(device))
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
        model.eval()
        print(epoch, accuracy(model, held_out, device))
