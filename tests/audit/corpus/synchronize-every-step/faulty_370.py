"""Stopwatches that wait for the device whenever they are asked."""

import time

import torch


class StepTimer:
    def __init__(self, device):
        self.wait = lambda: torch.cuda.synchronize(device)
        self.seconds = []

    def __enter__(self):
        self.wait()  # expect: synchronize-every-step@note
        self.began = time.perf_counter()
        return self

    def __exit__(self, *raised):
        torch.cuda.synchronize()  # expect: synchronize-every-step@note
        self.seconds.append(time.perf_counter() - self.began)
