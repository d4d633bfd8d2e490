"""A benchmark must wait for what it measures; a training need not."""

import time

import torch


def run_benchmark(model, batches, optimizer):
    for x in batches:
        began = time.perf_counter()
        model(x.cuda()).mean().backward()
        optimizer.step()
        torch.cuda.synchronize()  # expect: synchronize-every-step@note
        print(time.perf_counter() - began)


def train(model, batches, optimizer):
    for x in batches:
        model(x.cuda()).mean().backward()
        optimizer.step()
        torch.cuda.synchronize()  # expect: synchronize-every-step@warning
