import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from tools import prepare


def wrap(model, rank, world):
    if world > 1:
        return DistributedDataParallel(model.to(rank), device_ids=[rank])
    return nn.DataParallel(model.cuda())  # expect: data-parallel@note


def main(model, loader, optimizer):
    model = wrap(prepare(model), 0, 1)
    for x in loader:
        model(x.cuda()).mean().backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
    torch.save(model.state_dict(), "last.pt")
