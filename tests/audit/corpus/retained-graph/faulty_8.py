"""A sum with history; that it is set to zero by itself, or made longer by its own mean, adds none."""


def fit(model, loader, optimizer, every):
    model = model.cuda()
    total = 0.0
    for step, (x, y) in enumerate(loader, 1):
        loss = (model(x.cuda()) - y.cuda()).abs().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if y.numel() == 0:
            total += total / step
        else:
            total += loss  # expect: retained-graph@note
        if step % every == 0:
            print(total)
            total -= total
