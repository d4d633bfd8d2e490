"""A timetable of one's own, and an optimizer that reads nothing: both have a step."""

import torch
from torch.optim import Optimizer


class Timetable:
    def __init__(self, rates):
        self.rates = rates

    def step(self, turn=0):
        return float(self.rates[turn])


class Trusting(Optimizer):
    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for weight in group["params"]:
                weight.add_(weight.grad / weight.grad.norm().clamp(min=1.0), alpha=-group["lr"])
