import torch
from torch.nn.parallel import DataParallel


def main(args, model, loader):
    """One process a device, but nothing averages their gradients."""
    torch.distributed.init_process_group("nccl")
    model = model.to(args.device)
    model = DataParallel(model, device_ids=[args.local_rank], output_device=args.local_rank)  # expect: data-parallel
    wide = torch.nn.DataParallel(model)  # expect: data-parallel
    devices = wide.device_ids
    print(devices)
    optimizer = torch.optim.AdamW(model.parameters())
    for x, y in loader:
        torch.nn.functional.cross_entropy(model(x.to(args.device)), y.to(args.device)).backward()
        optimizer.step()
        optimizer.zero_grad()
