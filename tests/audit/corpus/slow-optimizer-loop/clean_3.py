import torch


class Regression:
    """Two tensors by hand are two kernels: nothing to fuse."""

    def __init__(self):
        self.weight = torch.zeros(3, requires_grad=True)
        self.bias = torch.zeros(1, requires_grad=True)

    def fit(self, batches, rate):
        for x, y in batches:
            ((x @ self.weight + self.bias) - y).square().mean().backward()
            with torch.no_grad():
                self.weight -= rate * self.weight.grad
                self.bias -= rate * self.bias.grad
            self.weight.grad = self.bias.grad = None


def rare(model, loader, optimizer, every):
    for step, x in enumerate(loader):
        model(x.cuda()).mean().backward()
        optimizer.step()
        optimizer.zero_grad()
        if step % every == 0:
            with torch.no_grad():
                for p in model.parameters():
                    p.clamp_(-1, 1)
