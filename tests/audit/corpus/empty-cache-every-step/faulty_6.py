import torch
from torch.cuda import empty_cache
from torch import cuda


def a(model, loader, optimizer):
    for x in loader:
        model(x.cuda()).mean().backward()
        optimizer.step()
        torch.cuda.empty_cache()  # expect: empty-cache-every-step
        empty_cache()  # expect: empty-cache-every-step


def free():
    cuda.empty_cache()  # expect: empty-cache-every-step


def b(model, loader, optimizer):
    for i, x in enumerate(loader):
        loss = model(x.cuda()).mean()
        loss.backward()
        optimizer.step()
        if torch.cuda.is_available():
            torch.cuda.empty_cache()  # expect: empty-cache-every-step
        del loss
        free()


@torch.no_grad()
def evaluate(model, loader):
    model.eval()
    for x in loader:
        print(model(x.cuda()).sum().item())
        torch.cuda.empty_cache()  # expect: empty-cache-every-step
