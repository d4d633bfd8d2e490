import torch


def fit(model, loader, optimizer, verbose=False):
    """Who asks for every number gets it; nobody does by accident."""
    model.cuda()
    for x in loader:
        loss = model(x.cuda()).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if verbose:
            print(loss.item())
