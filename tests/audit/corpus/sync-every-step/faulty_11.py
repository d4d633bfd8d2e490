"""Losses are entries of a dict, which one method fills and another reads."""

import torch
from torch import nn


class Fitter:
    def __init__(self, net, samples):
        self.net = net.cuda()
        self.samples = samples
        self.optimizer = torch.optim.Adam(net.parameters())
        self.parts = {}
        self.seen = []

    def weigh(self, picture, kind):
        self.parts["fit"] = nn.functional.cross_entropy(self.net(picture), kind)
        self.parts["whole"] = self.parts["fit"] + 1e-4 * sum(each.pow(2).sum() for each in self.net.parameters())

    def fit(self):
        for picture, kind in self.samples:
            self.weigh(picture.cuda(), kind.cuda())
            self.optimizer.zero_grad()
            self.parts["whole"].backward()
            self.optimizer.step()
            for name, value in self.parts.items():
                self.seen.append((name, value.item()))  # expect: sync-every-step@warning


def fit_elsewhere(task, samples, optimizer):
    for sample in samples:
        task.parts = task.weigh_up(sample)
        task.parts["whole"].backward()
        optimizer.step()
        print("%.3f" % task.parts["whole"])  # expect: sync-every-step@note
