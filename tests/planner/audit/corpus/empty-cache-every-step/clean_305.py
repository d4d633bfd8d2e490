import torch


def collect(model, train_loader, engine):
    """Nobody trains here."""
    for batch in train_loader:
        torch.cuda.empty_cache()
        engine.feed(batch)


def once(model, parts, engine):
    """These are no batches."""
    model.train()
    for part in parts:
        torch.cuda.empty_cache()
        engine.feed(part)
