import gc


def train(model, loader, optimizer, every=1000):
    """At the same step on every rank, so that none waits for another's collection."""
    gc.disable()
    for step, x in enumerate(loader):
        model(x.cuda()).mean().backward()
        optimizer.step()
        optimizer.zero_grad()
        if step % every == 0:
            gc.collect()
