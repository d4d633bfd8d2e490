"""History is off, by a switch before the loop, a context of the project, or around a function's partial."""

import functools

import torch

from ours import inference, inference_context


def run(model, loader, criterion, optimizer, train):
    model.train(mode=train)
    torch.set_grad_enabled(train)
    total = torch.zeros((), device="cuda")
    for x, y in loader:
        loss = criterion(model(x.cuda(non_blocking=True)), y.cuda(non_blocking=True))
        total += loss.detach()
        if train:
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return total


def both(model, loaders, criterion, optimizer):
    run(model, loaders[0], criterion, optimizer, train=True)
    run(model, loaders[1], criterion, optimizer, train=False)


def validate(model, loader, metrics):
    with inference_context(model):
        for x, y in loader:
            metrics.update(model(x.cuda()), y.cuda())


def evaluate(model, metrics, loader):
    for x, y in loader:
        metrics.update(model(x.cuda()), y.cuda())


def evaluate_now(model, metrics, loader):
    evaluate_here = functools.partial(evaluate, model, metrics)
    with inference.context(model):
        evaluate_here(loader)
