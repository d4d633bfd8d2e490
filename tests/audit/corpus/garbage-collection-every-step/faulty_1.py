import gc

import torch


def train(model, loader, optimizer):
    for x in loader:
        model(x.cuda()).mean().backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        gc.collect()  # expect: garbage-collection-every-step@warning
