import torch
from torch.optim import Adam

from steps import forward


def run(model, train_loader, criterion, device):
    """What each batch is handed to differentiates, though it is not at hand: it takes the optimizer."""
    optimizer = Adam(model.parameters())
    for x, y in train_loader:
        torch.cuda.empty_cache()  # expect: empty-cache-every-step@note
        forward(model, criterion, x.to(device), y.to(device), optimizer=optimizer)


def run_trained(model, train_loader, engine):
    """So it does where the model was told to train."""
    model.train()
    for batch in train_loader:
        torch.cuda.empty_cache()  # expect: empty-cache-every-step@note
        engine.feed(batch)
