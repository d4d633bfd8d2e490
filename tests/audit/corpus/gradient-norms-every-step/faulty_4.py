"""A method that steps, for whoever calls it."""

import torch


class Precise:
    def __init__(self, net):
        self.net = net.cuda()

    def apply(self, loss, optimizer):
        optimizer.zero_grad()
        loss.backward()
        total = 0.0
        for p in self.net.parameters():
            total += torch.norm(p.grad) ** 2  # expect: gradient-norms-every-step@note
        optimizer.step()
        return total
