import torch
from torch.nn.parallel import DistributedDataParallel as DDP


def every_step(model, loader, optimizer, rank):
    """No accumulation: each backward is followed by a step."""
    model = DDP(model.to(rank))
    for step, x in enumerate(loader):
        model(x.to(rank)).mean().backward()
        optimizer.step()
        optimizer.zero_grad()
        if step % 100 == 0:
            print(step)


def one_gpu(model, loader, optimizer, accumulate):
    """Accumulation on one GPU: there is nobody to talk to."""
    model = model.cuda()
    for i, x in enumerate(loader):
        (model(x.cuda()).mean() / accumulate).backward()
        if (i + 1) % accumulate == 0:
            optimizer.step()
            optimizer.zero_grad()
