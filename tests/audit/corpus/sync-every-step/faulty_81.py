import torch


def fit(model, criterion, x, y, optimizer, batches):
    total = 0
    for batch in batches:

        def closure():
            nonlocal total
            optimizer.zero_grad()
            loss = criterion(model(x[batch].cuda()), y[batch].cuda())
            if not torch.isfinite(loss):  # expect: sync-every-step@warning
                raise FloatingPointError
            loss.backward()
            total += loss.item()  # expect: sync-every-step@warning
            return loss

        optimizer.step(closure)
    return total
