import torch
from torch import nn
from tickers import Ticker


def fit(model, batches, optimizer, device, every_samples):
    """Shows numbers when a timer says so, and each time that so many samples were seen."""
    ticker = Ticker(seconds=5)
    shown, seen = 0, 0
    model.to(device)
    for inputs, labels in batches:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(inputs.to(device)), labels.to(device))
        loss.backward()
        optimizer.step()
        seen += len(inputs)
        shown += 1
        if ticker.tick():
            print(f"step {shown}: {loss.item():.3f}")
        if seen >= every_samples:
            print(f"loss {loss.item():.3f}, memory {torch.cuda.memory_allocated()}")
            seen %= every_samples
