def train(model, criterion, loader, optimizer):
    history = []
    for x, y in loader:
        losses = criterion(model(x.cuda()), y.cuda())
        losses["total"].backward()
        optimizer.step()
        optimizer.zero_grad()
        for name, value in losses.items():
            losses[name] = value.item()
        history.append(losses)
    return history
