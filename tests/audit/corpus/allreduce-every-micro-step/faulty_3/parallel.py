import torch


def wrap(model, local_rank):
    return torch.nn.parallel.DistributedDataParallel(model.cuda(local_rank), device_ids=[local_rank])
