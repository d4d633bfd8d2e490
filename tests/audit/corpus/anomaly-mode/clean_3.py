import torch


def explain(model, batch):
    """Called by hand, on one batch, where a gradient was not a number."""
    with torch.autograd.set_detect_anomaly(False, check_nan=False):
        return model(batch).mean()


def train(model, loader, optimizer):
    for x in loader:
        with torch.autograd.set_detect_anomaly(mode=False):
            model(x.cuda()).mean().backward()
        optimizer.step()
        optimizer.zero_grad()
