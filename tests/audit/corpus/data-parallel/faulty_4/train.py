import torch
from metric import load_network
from torch.nn.parallel import DistributedDataParallel


def main(model, network, loader, rank):
    model = DistributedDataParallel(model.to(rank), device_ids=[rank])
    judge = load_network(network)
    for x in loader:
        judge(model(x.to(rank))).mean().backward()
        torch.cuda.synchronize()
