import torch
import torch.distributed as dist


def train(model, loader, optimizer, epochs):
    for _ in range(epochs):
        for step, x in enumerate(loader):
            model(x.cuda()).mean().backward()
            optimizer.step()
            optimizer.zero_grad()
            if step % 100 == 0:
                torch.cuda.synchronize()
        torch.cuda.synchronize()
        dist.barrier()
