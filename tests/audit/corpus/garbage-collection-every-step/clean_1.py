import gc


def train(model, loader, optimizer, epochs):
    gc.disable()
    for _ in range(epochs):
        for x in loader:
            model(x.cuda()).mean().backward()
            optimizer.step()
            optimizer.zero_grad()
        gc.collect()
