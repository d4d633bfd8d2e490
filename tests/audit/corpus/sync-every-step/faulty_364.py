"""Predictions that a condition on the device brings to the host: later reads are of what lies there."""

import torch


def train(model, loader, optimizer, use_cuda):
    right = 0
    for x, y in loader:
        target = y.cuda() if use_cuda else y
        guess = model(x.cuda() if use_cuda else x)
        loss = torch.nn.functional.cross_entropy(guess, target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if use_cuda:
            guess = guess.cpu()  # expect: sync-every-step
        guess = guess.float()
        right += (guess.argmax(1) == y).sum().item()
    return right
