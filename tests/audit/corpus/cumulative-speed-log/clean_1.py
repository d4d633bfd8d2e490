import time


def train(model, loader, optimizer, every=50):
    started, seen = time.perf_counter(), 0
    for step, x in enumerate(loader):
        model(x.cuda()).mean().backward()
        optimizer.step()
        optimizer.zero_grad()
        seen += x.size(0)
        if step % every == 0:
            now = time.perf_counter()
            print(f"{seen / (now - started):.1f} samples/s")
            started, seen = now, 0
