import gc


def train(model, loader, optimizer):
    """Collects what is young at the same place on every rank; the whole is searched once in an epoch."""
    gc.disable()
    for x in loader:
        model(x.cuda()).mean().backward()
        optimizer.step()
        optimizer.zero_grad()
        gc.collect(1)
    gc.collect()
