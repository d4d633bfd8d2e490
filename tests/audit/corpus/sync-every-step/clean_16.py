"""Periods of reporting, whatever they are called, and values that are numbers already."""

import argparse

import torch


def options():
    parser = argparse.ArgumentParser()
    parser.add_argument("--freq", type=int, default=50)
    parser.add_argument("--n_critic", type=int, default=1)
    return parser.parse_args()


class Losses:
    def __init__(self, names):
        self.sums = {each: torch.zeros((), device="cuda") for each in names}

    def update_losses(self, parts):
        for name, value in parts.items():
            self.sums[name] += value.detach()

    def on_epoch_end(self):
        return {name: value.item() for name, value in self.sums.items()}


def train(args, net, optimizer, loader, losses):
    net = net.cuda()
    for i, (x, y) in enumerate(loader):
        loss = torch.nn.functional.mse_loss(net(x.cuda()), y.cuda())
        loss.backward()
        if (i + 1) % args.n_critic == 0:
            optimizer.step()
            optimizer.zero_grad()
        losses.update_losses({"mse": loss})
        if i % args.freq == 0:
            print("%.3f" % loss.item())
            assert not torch.isnan(loss)
