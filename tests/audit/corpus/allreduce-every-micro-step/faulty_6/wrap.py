import torch
from torch.nn.parallel import DistributedDataParallel as DDP


def prepare(model, local_rank):
    torch.distributed.init_process_group("nccl")
    return DDP(model.cuda(local_rank), device_ids=[local_rank])
