def train(model, criterion, loader, optimizer):
    history = []
    for x, y in loader:
        loss = criterion(model(x.cuda()), y.cuda())
        losses = {"total": loss, "scaled": 2 * loss}
        losses["total"].backward()
        optimizer.step()
        optimizer.zero_grad()
        for name in losses:
            print(name)
        history.append(losses)  # expect: retained-graph
    return history
