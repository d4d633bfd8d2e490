"""The host needs each of these answers at once: they decide what it does next."""

import torch


def refine(parameters, evaluate, optimizer, tolerance, most=1000):
    history = []
    for turn in range(most):
        optimizer.zero_grad()
        loss = evaluate(parameters.cuda())
        loss.backward()
        optimizer.step()
        history.append(loss.detach())
        if turn > 1 and (history[-1] <= tolerance or history[-2] - history[-1] <= tolerance):  # expect: sync-every-step@note
            break
    return history


def fit_with_unlabelled(model, loader, optimizer, criterion, floor):
    model.cuda()
    for x, y in loader:
        scores = model(x.cuda())
        excess = criterion(scores[0], y[0].cuda()) - criterion(scores[1], y[1].cuda())
        if excess.item() < floor:  # expect: sync-every-step@note
            loss = -excess
        else:
            loss = excess + criterion(scores, y.cuda())
        loss.backward()
        optimizer.step()
        print(loss.item())  # expect: sync-every-step@note


class Sparse:
    def __init__(self, network, width):
        self.network, self.width = network.cuda(), width
        self.optimizer = torch.optim.Adam(network.parameters())

    def revived(self, hidden):
        asleep = torch.zeros_like(hidden).cuda() >= hidden
        self.asleep = int(asleep.sum())  # expect: sync-every-step@note
        count = min(self.width, self.asleep)
        return torch.where(asleep, hidden, -torch.inf).topk(count).values.mean()

    def fit(self, loader):
        for x in loader:
            hidden = self.network(x.cuda())
            loss = hidden.pow(2).mean() + self.revived(hidden)
            loss.backward()
            self.optimizer.step()
            print(loss.item())  # expect: sync-every-step@warning
            print(hidden.mean().item())  # expect: sync-every-step@warning


def fit_with_a_common_rate(model, loader, optimizer, rate):
    model.cuda()
    for x in loader:
        loss = model(x.cuda()).mean()
        loss.backward()
        shared = torch.tensor(rate, device="cuda")
        torch.distributed.broadcast(shared, src=0)
        rate = shared.item()  # expect: sync-every-step@note
        for group in optimizer.param_groups:
            group["lr"] = rate
        optimizer.step()
