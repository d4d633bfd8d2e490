import torch


def train(model, loader, optimizer, tasks):
    for x in loader:
        losses = model(x.cuda())
        optimizer.zero_grad()
        for task in range(tasks):
            losses[task].backward(retain_graph=task < tasks - 1)
        optimizer.step()
        optimizer.zero_grad()


def weighted(model, loader, optimizer):
    for x in loader:
        losses = model(x.cuda())
        for loss in losses:
            loss.backward(retain_graph=True)
        optimizer.step()
        optimizer.zero_grad()
