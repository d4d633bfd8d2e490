"""Nothing here ever lies anywhere but in the host's memory: reading it costs nothing."""

import numpy
import torch


critic = torch.nn.Linear(8, 1)
optimizer = torch.optim.Adam(critic.parameters())


def fit(memory, turns):
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
