from models.utils import DistributedDataParallel, FullyShardedDataParallel
from plans import DataParallelPlan
from torch import nn


def build(model, device):
    """Other kinds of parallel training, and what only speaks of it."""
    plan = DataParallelPlan(2)
    return FullyShardedDataParallel(DistributedDataParallel(model.to(device))), plan


class ModelDataParallel(nn.Module):
    """It is called so, and is another thing."""

    def __init__(self, model):
        super().__init__()
        self.model = model


def wrap(model):
    return ModelDataParallel(model)
