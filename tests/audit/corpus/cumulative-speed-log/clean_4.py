import time


def train(model, loader, optimizer, total_steps):
    """What remains is rightly told from the mean so far."""
    start = time.monotonic()
    for step, x in enumerate(loader, 1):
        model(x.cuda()).mean().backward()
        optimizer.step()
        optimizer.zero_grad()
        if step % 100 == 0:
            elapsed = time.monotonic() - start
            remaining = elapsed / step * (total_steps - step)
            print(f"{step}/{total_steps}, about {remaining / 60:.0f} min left")
