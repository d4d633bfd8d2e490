from contextlib import contextmanager

import torch
from accelerate import Accelerator


@contextmanager
def counted(counts):
    counts.append(len(counts))
    yield


def train(model, optimizer, batches, micro_steps, updates, counts):
    """The contexts around each pass are known, and none holds the exchange back."""
    accelerator = Accelerator()
    model, optimizer, batches = accelerator.prepare(model, optimizer, batches)
    source = iter(batches)
    for _ in range(updates):
        for _ in range(micro_steps):
            with counted(counts), torch.autograd.profiler.record_function("micro"), accelerator.autocast():
                loss = model(next(source))
                accelerator.backward(loss / micro_steps)  # expect: allreduce-every-micro-step@warning
        optimizer.step()
        optimizer.zero_grad()
