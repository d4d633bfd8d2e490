import time


def train(model, loader, optimizer, epochs):
    """Each epoch's own speed, and the time of a step."""
    for epoch in range(epochs):
        epoch_start = time.time()
        samples = 0
        t0 = time.time()
        for x in loader:
            model(x.cuda()).mean().backward()
            optimizer.step()
            optimizer.zero_grad()
            samples += len(x)
            t1 = time.time()
            print(f"step {(t1 - t0) * 1000:.1f} ms, {len(x) / (t1 - t0):.0f} samples/s")
            t0 = t1
        print(f"epoch {epoch}: {samples / (time.time() - epoch_start):.0f} samples/s")
