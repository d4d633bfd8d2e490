import torch
from torch.nn.parallel import DistributedDataParallel


def train(model, loader, optimizer, rank, parts, use_deepspeed, engine):
    model = DistributedDataParallel(model.cuda(rank), device_ids=[rank])
    for step, x in enumerate(loader):
        if use_deepspeed:
            engine.backward(model(x.cuda(rank)).mean())
        if step % parts == 0:
            optimizer.step()
            optimizer.zero_grad()
