import torch
from torch import nn


def train(encoder, graph, loader, optimizers, device="cuda"):
    encoder, graph = encoder.to(device), graph.to(device)
    seen = 0.0
    for number, x in enumerate(loader):
        x = x.to(device)
        if number % 2 == 0:
            optimizers["encoder"].zero_grad()
            loss = nn.functional.mse_loss(encoder(x), x)
            loss.backward()
            optimizers["encoder"].step()
            seen += loss.item()  # expect: sync-every-step@note
        else:
            optimizers["graph"].zero_grad()
            loss = nn.functional.mse_loss(graph(x), x)
            loss.backward()
            optimizers["graph"].step()
    return seen


def train_parts(teacher, loader, optimizer, limit):
    for step, batch in enumerate(loader):
        optimizer.zero_grad()
        losses = teacher.forward_and_backward(batch)
        optimizer.step()
        teacher.update_average(0.99)
        shown = {name: each.item() for name, each in losses.items()}  # expect: sync-every-step@note
        if step > limit:
            return shown
    return {}
