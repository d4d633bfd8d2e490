from copy import deepcopy

import torch


def fit(model, loader, validate, epochs):
    """Three copies at most."""
    optimizer = torch.optim.AdamW(model.parameters())
    costs, weights = [], []
    for _ in range(epochs):
        for x, y in loader:
            loss = torch.nn.functional.mse_loss(model(x), y)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
        costs.append(validate(model))
        weights.append(deepcopy(model.state_dict()))
        if len(weights) > 3:
            weights.pop(0)
    model.load_state_dict(weights[-1])


def names(model, loader, epochs):
    """These are no copies: each entry is the same tensors."""
    optimizer = torch.optim.AdamW(model.parameters())
    kept = []
    for _ in range(epochs):
        for x, y in loader:
            torch.nn.functional.mse_loss(model(x), y).backward()
            optimizer.step()
            optimizer.zero_grad()
        kept.append(model.state_dict())
    return kept


def rounds(clients, server, count):
    """The list begins anew in each round."""
    for _ in range(count):
        weights = []
        for model, loader, optimizer in clients:
            for x, y in loader:
                torch.nn.functional.mse_loss(model(x), y).backward()
                optimizer.step()
                optimizer.zero_grad()
            weights.append(deepcopy(model.state_dict()))
        server.average(weights)
