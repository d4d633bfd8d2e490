"""A pipeline's schedule runs the backward passes itself, unless it is told to go forward alone."""

import torch


def train(schedule, stages, batches, optimizer, scheduler, steps, device):
    for step in range(steps):
        optimizer.zero_grad()
        losses = schedule(forward_step_func=forward, data_iterator=batches, model=stages, forward_only=False)
        done, norm, _ = optimizer.step()
        done = torch.tensor(int(done), device=device)
        torch.distributed.all_reduce(done)
        if done.item():  # expect: sync-every-step@warning
            scheduler.step(1)
        reached = torch.tensor(step, device=device)
        torch.distributed.all_reduce(reached)
        print(step, reached.item())  # expect: sync-every-step@warning


def forward(batches, model):
    return model(next(batches))
