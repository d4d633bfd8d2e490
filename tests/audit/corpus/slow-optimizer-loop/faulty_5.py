"""Averages of weights, as others write them, called by loops that are not here."""

import copy

import torch


class MovingAverage:
    def __init__(self, net, decay):
        self.decay = decay
        self.shadow = {}
        for name, param in net.named_parameters():
            self.shadow[name] = param.data.clone()

    def update(self, net):
        for name, param in net.named_parameters():
            if param.requires_grad:
                assert name in self.shadow
                average = (1.0 - self.decay) * param.data + self.decay * self.shadow[name]
                self.shadow[name] = average.clone()  # expect: slow-optimizer-loop@note


class Kept:
    def __init__(self, net, decay=0.9999):
        self.ema = copy.deepcopy(net).eval()
        self.decay = decay

    def update(self, net):
        with torch.no_grad():
            fresh = net.state_dict()
            for key, value in self.ema.state_dict().items():
                if value.dtype.is_floating_point:
                    value *= self.decay  # expect: slow-optimizer-loop@note
                    value += (1.0 - self.decay) * fresh[key].detach()


def soft_update(local, target, tau):
    for t, l in zip(target.parameters(), local.parameters()):
        t.data.copy_(tau * l.data + (1.0 - tau) * t.data)  # expect: slow-optimizer-loop@note


def accumulate(one, other, decay=0.999):
    first, second = dict(one.named_parameters()), dict(other.named_parameters())
    for key in first.keys():
        first[key].data.mul_(decay).add_(second[key].data, alpha=1 - decay)  # expect: slow-optimizer-loop@note


class Average:
    def blend(self, old, new):
        return new if old is None else old * 0.99 + 0.01 * new

    def update_model_average(self, slow, fast):
        for fast_params, slow_params in zip(fast.parameters(), slow.parameters()):
            old, up = slow_params.data, fast_params.data
            slow_params.data = self.blend(old, up)  # expect: slow-optimizer-loop@note


class Slow(torch.optim.Optimizer):
    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                p.data.add_(p.grad.data, alpha=-group["lr"])  # expect: slow-optimizer-loop@note


class Momentum:
    @torch.no_grad()
    def on_train_batch_end(self, trainer, module, outputs, batch, batch_idx):
        for q, k in zip(module.query.parameters(), module.key.parameters()):
            k.data = k.data * 0.99 + q.data * 0.01  # expect: slow-optimizer-loop@note
