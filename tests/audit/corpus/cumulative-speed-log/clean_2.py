import time


def train(model, loader, optimizer):
    """One figure of the whole, at the end."""
    start = time.time()
    seen = 0
    for x in loader:
        model(x.cuda()).mean().backward()
        optimizer.step()
        optimizer.zero_grad()
        seen += len(x)
    print(f"trained {seen} samples, {seen / (time.time() - start):.1f} a second")
