import math

import torch
import torch.nn.functional as F


class Trainer:
    def __init__(self, net, opt, batches, accumulation=8):
        self.net = net.cuda()
        self.opt = opt
        self.batches = batches
        self.accumulation = accumulation
        self.history = []

    def _record(self, value):
        self.history.append(float(value))  # expect: sync-every-step@warning

    def run_epoch(self):
        for number, (tokens, targets) in enumerate(self.batches):
            out = self.net(tokens.cuda(non_blocking=True))
            error = F.cross_entropy(out.flatten(0, 1), targets.cuda(non_blocking=True).flatten())
            (error / self.accumulation).backward()
            self._record(error.detach())
            if (number + 1) % self.accumulation == 0:
                self.opt.step()
                self.opt.zero_grad()
        return math.exp(sum(self.history) / len(self.history))
