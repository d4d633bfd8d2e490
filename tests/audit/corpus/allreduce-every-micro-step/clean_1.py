import contextlib

import torch
from torch.nn.parallel import DistributedDataParallel as DDP


def train(model, loader, optimizer, rank, accumulate):
    model = DDP(model.to(rank), device_ids=[rank])
    for i, (x, y) in enumerate(loader):
        last = (i + 1) % accumulate == 0
        with contextlib.nullcontext() if last else model.no_sync():
            loss = torch.nn.functional.cross_entropy(model(x.to(rank)), y.to(rank)) / accumulate
            loss.backward()
        if last:
            optimizer.step()
            optimizer.zero_grad()
