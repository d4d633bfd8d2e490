"""What an expert would ask about first is no more than a note: each loop waits twice, or several times in a step."""

import torch
from scipy.optimize import linear_sum_assignment
from torch import nn
from torch.nn.functional import cross_entropy


class Pairing(nn.Module):
    def __init__(self, body):
        super().__init__()
        self.body = body

    def forward(self, picture, sizes):
        if sizes != 3:  # expect: sync-every-step@note
            picture = picture[sizes]
        return self.body(picture)


def assign(costs):
    rows, columns = linear_sum_assignment(costs.cpu())  # expect: sync-every-step@note
    return rows, columns


def save(model, path, loss):
    torch.save({"loss": loss.item(), "state": model.state_dict()}, path)  # expect: sync-every-step@note


def halve(loss, width):
    for _ in range(20):
        if (loss * width).sum() < 1:  # expect: sync-every-step@note
            break
        width = width / 2
    return width


class Weigher:
    def __init__(self, balances=False):
        self.balances = balances
        self.balance = 1.0

    def __call__(self, given, kind):
        loss = cross_entropy(given, kind)
        if self.balances:
            self.balance = 0.9 * self.balance + 0.1 / loss.item()  # expect: sync-every-step@note
            self.balance -= loss.min().item()  # expect: sync-every-step@note
        return loss


def fit(model, loader, optimizer):
    weigh = Weigher()
    model = Pairing(model).cuda()
    for picture, kind in loader:
        given = model(picture.cuda(), kind.size())
        assign(given)
        loss = weigh(given, kind.cuda())
        halve(loss, 1.0)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        save(model, "last.pt", loss)


def find_lr(model, loader, optimizer):
    lowest, highest = 1e9, 0.0
    for picture, kind in loader:
        loss = cross_entropy(model(picture.cuda()), kind.cuda())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        lowest = min(lowest, loss.item())  # expect: sync-every-step@note
        highest = max(highest, loss.item())  # expect: sync-every-step@note


def fit_either(model, loader, optimizer, chosen, settings):
    for picture, kind in loader:
        which = chosen(kind) if settings.ready else kind.cuda()
        loss = cross_entropy(model(picture.cuda()), kind.cuda())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(loss)  # expect: sync-every-step@note
        print(f"{which}")  # expect: sync-every-step@note
