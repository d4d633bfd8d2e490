import torch
from torch.nn.parallel import DistributedDataParallel as DDP


def train(model, loader, optimizer, rank, accumulate):
    model = DDP(model.to(rank), device_ids=[rank])
    for i, (x, y) in enumerate(loader):
        loss = torch.nn.functional.cross_entropy(model(x.to(rank)), y.to(rank)) / accumulate
        loss.backward()  # expect: allreduce-every-micro-step@warning
        if (i + 1) % accumulate == 0:
            optimizer.step()
            optimizer.zero_grad()
