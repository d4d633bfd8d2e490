import torch


def train(model, loader, optimizer, accumulate):
    """The sum is what is differentiated: it must keep its graph, and lets it go each time."""
    total = 0.0
    for number, (x, y) in enumerate(loader):
        total += torch.nn.functional.mse_loss(model(x.cuda()), y.cuda())
        if (number + 1) % accumulate == 0:
            (total / accumulate).backward()
            optimizer.step()
            optimizer.zero_grad()
            total = 0.0


def several_heads(model, loader, optimizer, heads):
    for x, targets in loader:
        loss = 0
        features = model(x.cuda())
        for head, target in zip(heads, targets, strict=True):
            loss += torch.nn.functional.cross_entropy(head(features), target.cuda())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
