"""Two ranks of gloo, started by torchrun, or by torch.multiprocessing.spawn with the file in which they meet."""

import os
import sys
from multiprocessing import get_context
from typing import Any

import torch
from torch import distributed
from torch.utils.data import DataLoader, TensorDataset


def train(rank: int, meeting: str) -> None:
    """Train one rank. With a file to meet in, nothing in the environment names it."""
    torch.set_num_threads(1)
    if meeting:
        distributed.init_process_group("gloo", init_method=f"file://{meeting}", rank=rank, world_size=2)
    else:
        distributed.init_process_group("gloo")
    torch.manual_seed(0)
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 4))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    options: dict[str, Any] = (
        {"num_workers": 1, "multiprocessing_context": get_context("spawn")} if meeting and not rank else {}
    )
    for (batch,) in DataLoader(TensorDataset(torch.randn(20, 4)), batch_size=4, **options):
        optimizer.zero_grad()
        model(batch).sum().backward()
        optimizer.step()
    distributed.destroy_process_group()


if __name__ == "__main__":
    if sys.argv[1:]:
        torch.multiprocessing.spawn(train, (sys.argv[1],), nprocs=2)
    else:
        train(int(os.environ["RANK"]), "")
