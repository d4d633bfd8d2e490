import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP


def train(rank, loader, network: nn.Module):
    device = torch.device(f"cuda:{rank}")
    wrapped = DDP(network.to(device), device_ids=[rank])
    opt = torch.optim.AdamW(wrapped.parameters(), lr=1e-3)
    for x, y in loader:
        opt.zero_grad(set_to_none=True)
        prediction = wrapped(x.to(device))  # expect: no-mixed-precision@note
        nn.functional.mse_loss(prediction, y.to(device)).backward()
        opt.step()
