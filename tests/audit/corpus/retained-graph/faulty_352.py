"""Statistics that a pass puts into buffers, history and all, and losses that are kept with the one differentiated."""

from torch import nn


class Norm(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.register_buffer("running_mean", nn.init.zeros_(size))
        self.register_buffer("kept_mean", nn.init.zeros_(size))

    def forward(self, inputs):
        mean = inputs.mean(0)
        self.running_mean.mul_(0.9).add_(mean * 0.1)  # expect: retained-graph@note
        self.kept_mean.mul_(0.9).add_(mean.detach() * 0.1)
        return inputs - mean


def train(model, batches, criterion, optimizer):
    history = []
    for batch in batches:
        loss = criterion(model, batch)
        loss["total"].backward()
        optimizer.step()
        history.append(loss)  # expect: retained-graph
    return history
