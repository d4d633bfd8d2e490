"""A number divided by a length is a number, whatever has that length."""

import random

import torch

device = torch.device("cuda")


def step(source, target, encoder, optimizer, criterion):
    optimizer.zero_grad()
    loss = 0
    for place in range(target.size(0)):
        loss += criterion(encoder(source[place]), target[place])
    loss.backward()
    optimizer.step()
    return loss.item() / target.size(0)


def fit(pairs, encoder, optimizer, criterion):
    whole = 0
    for _ in range(1000):
        pair = tensors(random.choice(pairs))
        loss = step(pair[0], pair[1], encoder, optimizer, criterion)
        whole += loss
    return whole
