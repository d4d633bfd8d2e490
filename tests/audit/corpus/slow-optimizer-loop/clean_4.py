"""Weights written once, or all together."""

import torch


def init_weights(net):
    for p in net.parameters():
        p.data.mul_(0.1).add_(torch.randn_like(p))


def load_pretrained(net, other):
    own = net.state_dict()
    for name, value in other.state_dict().items():
        own[name].copy_(value)


def hard_update(target, source):
    for t, s in zip(target.parameters(), source.parameters()):
        t.data.copy_(s.data)


class Average:
    def __init__(self, net, decay):
        self.decay = decay
        self.kept = [p.detach().clone() for p in net.parameters()]

    @torch.no_grad()
    def update(self, net):
        torch._foreach_lerp_(self.kept, list(net.parameters()), 1 - self.decay)

    def register(self, net):
        self.shadow = {}
        for name, param in net.named_parameters():
            self.shadow[name] = param.data.clone()


def interpolate(first, second, share):
    for p, q in zip(first.parameters(), second.parameters()):
        p.data.lerp_(q.data, share)


def freeze(net):
    for p in net.parameters():
        p.requires_grad_(False)
