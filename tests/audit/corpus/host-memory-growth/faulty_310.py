from copy import deepcopy

import torch


def fit(model, loader, validate, epochs):
    """They go when the training is over, which is too late."""
    optimizer = torch.optim.AdamW(model.parameters())
    costs, weights = [], []
    for _ in range(epochs):
        for x, y in loader:
            loss = torch.nn.functional.mse_loss(model(x), y)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
        costs.append(validate(model))
        weights.append(deepcopy(model.state_dict()))  # expect: host-memory-growth@note
    model.load_state_dict(weights[costs.index(min(costs))])
    del weights
