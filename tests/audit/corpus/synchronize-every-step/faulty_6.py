import time

import torch
import torch.distributed as dist


def now():
    torch.cuda.synchronize()  # expect: synchronize-every-step
    return time.perf_counter()


def a(model, loader, optimizer, device):
    for x in loader:
        start = now()
        model(x.cuda()).mean().backward()
        optimizer.step()
        torch.cuda.synchronize(device)  # expect: synchronize-every-step
        torch.cuda.current_stream().synchronize()  # expect: synchronize-every-step
        print(time.perf_counter() - start)
        dist.barrier()  # expect: synchronize-every-step
