import torch
import torch.nn as nn


def load(model, path):
    """Only asks whether something was wrapped, as a loader of checkpoints does."""
    if isinstance(model, (nn.DataParallel, nn.parallel.DistributedDataParallel)):
        model = model.module
    model.load_state_dict(torch.load(path))
    return model


class DataParallel:
    """Another thing of that name."""


def own():
    return DataParallel()
