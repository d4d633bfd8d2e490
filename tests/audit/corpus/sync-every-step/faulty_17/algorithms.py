"""What one step does; the runner finds it by its name."""

import torch
import torch.nn.functional as F


class Algorithm:
    def __init__(self, net, optimizer):
        self.net, self.optimizer = net, optimizer

    def prepare(self, batch):
        return {"weak": batch[0].cuda(), "strong": batch[1].cuda(), "label": batch[2].cuda()}

    def report(self, **parts):
        return {name: value.detach() for name, value in parts.items()}


class Consistency(Algorithm):
    def train_step(self, weak, strong, label):
        scores = self.net(weak)
        supervised = F.cross_entropy(scores, label)
        sure = scores.softmax(-1).max(-1)[0] > 0.95
        unsupervised = (F.cross_entropy(self.net(strong), scores.argmax(-1), reduction="none") * sure).mean()
        total = supervised + unsupervised
        return {
            "supervised": supervised.item(),  # expect: sync-every-step
            "unsupervised": unsupervised.item(),  # expect: sync-every-step
            "total": total,
            "used": sure.float().mean().item(),  # expect: sync-every-step
        }


class Update:
    """Called after each step, by name."""

    def after_report(self, runner, report):
        total = report["total"]
        total.backward()
        runner.algorithm.optimizer.step()
        runner.algorithm.optimizer.zero_grad()
        self.last = total.detach().cpu().item()  # expect: sync-every-step

    def after_epoch(self, runner):
        print(runner.net.head.weight.norm().item())
