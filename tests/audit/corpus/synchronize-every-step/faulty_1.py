import time

import torch


def train(model, loader, optimizer):
    for x in loader:
        started = time.perf_counter()
        model(x.cuda()).mean().backward()
        optimizer.step()
        optimizer.zero_grad()
        torch.cuda.synchronize()  # expect: synchronize-every-step@warning
        print("step", time.perf_counter() - started)
