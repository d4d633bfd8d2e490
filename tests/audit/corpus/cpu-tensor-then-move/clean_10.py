import torch
from torch import nn


def rows(samples):
    return torch.stack([torch.tensor(each) for each in samples])


class Pool(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, width)
        self.table = None

    def forward(self, x, lengths, samples):
        if self.table is None or self.table.shape[0] < x.shape[1]:
            self.table = torch.arange(x.shape[1]).to(x.device)
        mask = torch.zeros(x.shape[0], x.shape[1])
        for number, length in enumerate(lengths):
            mask[number, :length] = 1
        given = rows(samples).to(x.device)
        like = torch.zeros_like(x).to(x.device)
        cast = torch.zeros(x.shape, device=x.device).to(x.dtype)
        return self.linear(x + given + like + cast) * mask.to(x.device) + self.table


class Slow(torch.optim.Optimizer):
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                state = self.state[p]
                if "sum" not in state:
                    total = state["sum"] = torch.zeros(p.shape).to(p.device)
                    total.add_(1)


def measure(paths, count):
    return torch.zeros(count).cuda()
