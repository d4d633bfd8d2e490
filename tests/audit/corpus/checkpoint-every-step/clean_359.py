"""A checkpoint every so many ticks, and at the end."""

import torch


def train(model, batches, optimizer, rank, every):
    tick = 0
    for batch in batches:
        loss = model(batch).mean()
        loss.backward()
        optimizer.step()
        done = batch is None
        tick += 1
        if (every is not None) and (done or tick % every == 0) and rank == 0:
            torch.save(model.state_dict(), "last.pt")
