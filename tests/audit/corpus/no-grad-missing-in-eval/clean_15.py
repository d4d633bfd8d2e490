from contextlib import contextmanager

import torch


@contextmanager
def frozen(model):
    """Forces are derivatives: history is needed, though not that of the parameters."""
    before = [each.requires_grad for each in model.parameters()]
    for each in model.parameters():
        each.requires_grad = False
    yield
    for each, was in zip(model.parameters(), before):
        each.requires_grad = was


def evaluate(model, data_loader):
    model.eval()
    errors = []
    with frozen(model):
        for batch in data_loader:
            errors.append(model(batch.to("cuda"), compute_force=True)["error"])
    return torch.stack(errors).mean().item()
