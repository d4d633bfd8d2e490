"""A few steps that look for the largest batch give back what each of them took."""

import torch


def find_batch_size(model, make_batch, optimizer):
    size = 1
    for _ in range(12):
        loss = model(make_batch(size).cuda()).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        torch.cuda.empty_cache()  # expect: empty-cache-every-step@note
        size *= 2
    return size
