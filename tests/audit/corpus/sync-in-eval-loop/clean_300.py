import torch
from helpers import points_of, random_task, windows_of
from torch import nn


class Comparison:
    """Turns that are few, or of which each needs what the one before gave, or that read nothing of a model's."""

    def __init__(self, width):
        self.net = nn.Sequential(nn.Linear(width, 64), nn.ReLU(), nn.Linear(64, 2)).cuda()

    def of_models(self, x):
        found = {}
        for name, model in {"plain": self.net, "half": self.net.half()}.items():
            found[name] = model(x.cuda()).mean().item()
        return found

    def per_epoch(self, x, epochs):
        shown = []
        for _epoch in range(epochs):
            shown.append(self.net(x.cuda()).cpu())
        return shown

    def generate(self, start, length):
        tokens = [start]
        for _ in range(length):
            tokens.append(self.net(torch.tensor(tokens).cuda())[-1].argmax().item())
        return tokens

    def widths(self, series):
        return [window.max().item() for window in windows_of(series)]

    def kept_there(self, series):
        out = []
        for window in windows_of(series):
            out.append(self.net(window.cuda()))
        return torch.cat(out).cpu()


def compared(first, second, tasks):
    """The networks themselves are gone through."""
    first.cuda()
    second.cuda()
    for each in (first, second):
        print(each(random_task(tasks).cuda()).sum().item())


def attached(engine, log):
    """Handed an engine, and no batch that a model runs on."""
    log.write(points_of(engine.state))


class Path:
    """A few settings, for each of which all batches are gone through; and maps that differentiate."""

    def __init__(self, width, loader):
        self.net = nn.Sequential(nn.Linear(width, 64), nn.ReLU(), nn.Linear(64, 2)).cuda()
        self.loader = loader

    def total(self, rate):
        found = torch.zeros((), device="cuda")
        for x in self.loader:
            found += self.net(x.cuda()).mean() * rate
        return self.net.weight.mean() * found + self.net(found)

    def along(self, rates):
        shown = []
        for rate in rates:
            shown.append(self.total(rate).cpu())
        return shown

    def salient(self, windows):
        maps = []
        for window in windows:
            given = self.net(window.cuda().requires_grad_())
            given.sum().backward()
            maps.append(given.detach().cpu())
        return maps
