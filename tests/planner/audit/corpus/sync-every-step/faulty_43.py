"""Nothing here ever lies anywhere but in the host's memory: reading it costs nothing."""

import numpy
import torch


def fit(critic, memory, optimizer, turns):
    losses, others = [], []
    for _ in range(turns):
        rows = numpy.random.choice(memory, 64)
        values = critic(torch.from_numpy(rows).float())
        loss = values.pow(2).mean()
        other = values.abs().mean()
        (loss + other).backward()
        optimizer.step()
        losses.append(loss.item())  # expect: sync-every-step@note
        others.append(other.item())  # expect: sync-every-step@note
    return losses, others
