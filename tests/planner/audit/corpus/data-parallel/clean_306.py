from models.utils import DistributedDataParallel, FullyShardedDataParallel
from plans import DataParallelPlan


def build(model, device):
    """Other kinds of parallel training, and what only speaks of it."""
    plan = DataParallelPlan(2)
    return FullyShardedDataParallel(DistributedDataParallel(model.to(device))), plan
