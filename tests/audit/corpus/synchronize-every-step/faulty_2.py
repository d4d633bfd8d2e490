import torch
from torch import cuda


class Timer:
    def stop(self):
        cuda.synchronize()  # expect: synchronize-every-step@warning


def train(model, loader, optimizer):
    timer = Timer()
    for x in loader:
        loss = model(x.cuda()).mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        timer.stop()  # expect: synchronize-every-step@warning
    return torch.zeros(())
