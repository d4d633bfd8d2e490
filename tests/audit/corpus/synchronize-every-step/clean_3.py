import threading

import torch


def train(model, loader, optimizer, profile=False):
    """Events and streams that wait for one another keep the host free."""
    copies = torch.cuda.Stream()
    barrier = threading.Barrier(1)
    for x in loader:
        torch.cuda.current_stream().wait_stream(copies)
        model(x.cuda(non_blocking=True)).mean().backward()
        optimizer.step()
        optimizer.zero_grad()
        if profile:
            torch.cuda.synchronize()
        barrier.wait()
