import torch


def train(model, loader, optimizer, path, stop):
    best = float("inf")
    for step, x in enumerate(loader):
        model(x.cuda()).mean().backward()
        optimizer.step()
        optimizer.zero_grad()
        if stop.is_set():
            torch.save(model.state_dict(), path)
            break
        if step in (1_000, 10_000):
            torch.save(model.state_dict(), path)
    return best
