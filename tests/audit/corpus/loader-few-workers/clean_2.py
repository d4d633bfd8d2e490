import os

from torch.utils.data import DataLoader


def loader(dataset, world_size):
    per_rank = max(1, len(os.sched_getaffinity(0)) // world_size)
    return DataLoader(dataset, batch_size=64, num_workers=per_rank, persistent_workers=True)
