"""Stopwatches that record events, and what is no stopwatch."""

import time

import torch


class StepTimer:
    def __init__(self):
        self.events = []
        torch.cuda.synchronize()

    def __enter__(self):
        began = torch.cuda.Event(enable_timing=True)
        began.record()
        self.events.append(began)
        return self


class Report:
    def close(self):
        torch.cuda.synchronize()
        self.closed = time.time()
