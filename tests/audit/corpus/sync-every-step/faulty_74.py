from torch import nn


def update(model, batch, optimizer, weight):
    """Step, and give the loss as it lies on the device."""
    loss = nn.functional.cross_entropy(model(batch.inputs), batch.labels)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    return read(loss, weight)


def read(loss, weight):
    return loss * weight


class Progress:
    def __init__(self):
        self.steps = 0

    def step(self, loss):
        self.steps += 1
        return f"{self.steps}: {loss:.3f}"  # expect: sync-every-step@note


def fit(model, batches, optimizer, device, weight, bar):
    model.to(device)
    progress = Progress()
    for batch in batches:
        loss = update(model, batch.to(device), optimizer, weight)
        bar.text = progress.step(loss)
