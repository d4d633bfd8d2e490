import torch


def train(model, loader, optimizer, weight_decay):
    """A penalty of the weights is a part of the loss, no report."""
    for batch in loader:
        loss = model(batch.cuda()).mean()
        penalty = sum(p.norm(1) for p in model.parameters())
        (loss + weight_decay * penalty).backward()
        optimizer.step()
        optimizer.zero_grad()
