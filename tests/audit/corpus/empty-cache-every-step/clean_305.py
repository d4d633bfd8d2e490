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


def show_rate(optimizer):
    print(optimizer.param_groups[0]["lr"])


def watch(model, train_loader, engine):
    """What takes the optimizer is at hand, and does not train."""
    optimizer = torch.optim.Adam(model.parameters())
    for batch in train_loader:
        torch.cuda.empty_cache()
        show_rate(optimizer)
        engine.feed(batch)
