import torch
from torch.nn.parallel import DistributedDataParallel as DataParallel


def main(model, loader, rank):
    torch.distributed.init_process_group("nccl")
    model = DataParallel(model.to(rank), device_ids=[rank])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x, y in loader:
        torch.nn.functional.cross_entropy(model(x.to(rank)), y.to(rank)).backward()
        optimizer.step()
        optimizer.zero_grad()
