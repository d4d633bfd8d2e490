import torch
import torch.distributed as dist


def train(model, loader, optimizer):
    stream = torch.cuda.current_stream()
    for x in loader:
        model(x.cuda()).mean().backward()
        stream.synchronize()  # expect: synchronize-every-step
        optimizer.step()
        optimizer.zero_grad()
        dist.barrier()  # expect: synchronize-every-step@warning
