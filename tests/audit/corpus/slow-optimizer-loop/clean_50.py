import torch
from torch import nn


class Perturbed:
    """Puts weights back that it had changed for one pass."""

    def __init__(self, model):
        self.model, self.kept = model, {}

    def step_back(self):
        for name, each in self.model.named_parameters():
            if name in self.kept:
                each.data = self.kept[name]


def init_weights(model):
    for each in model.parameters():
        each.data.clamp_(-0.1, 0.1)


def merge_checkpoints(first, second, alpha):
    mixed = first.state_dict()
    for name, value in second.state_dict().items():
        mixed[name] = alpha * mixed[name] + (1 - alpha) * value
    return mixed
