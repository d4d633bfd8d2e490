"""A file that is called a measurement waits for what it measures."""

import torch


def run(model, batches, optimizer):
    for x in batches:
        model(x.cuda()).mean().backward()
        optimizer.step()
        torch.cuda.synchronize()  # expect: synchronize-every-step@note
