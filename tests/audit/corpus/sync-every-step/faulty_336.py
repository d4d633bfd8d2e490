"""Code that whoever trains runs in each step, though no loop of its own does."""

import torch
from torch import Tensor, nn


class Adaptive(torch.optim.Optimizer):
    """Its step leaves the reading to a method, parameter by parameter."""

    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                self.step_parameter(p, group)

    def step_parameter(self, p, group):
        norm = torch.norm(p.data)
        if norm == 0:  # expect: sync-every-step@note
            return
        self.sum += torch.dot(p.grad.flatten(), p.data.flatten()).item()  # expect: sync-every-step@note
        ratio = norm / torch.norm(p.grad)
        p.data.add_(p.grad, alpha=-group["lr"] * ratio)  # expect: sync-every-step@note


class Fused(torch.autograd.Function):
    @staticmethod
    def forward(ctx, logits, target):
        return _fused(logits, target)

    @staticmethod
    def backward(ctx, gradient):
        if torch.equal(gradient, torch.ones_like(gradient)):  # expect: sync-every-step@note
            return gradient, None
        return gradient * 2, None


def _fused(logits, target):
    kept = (target != -100).sum().item()  # expect: sync-every-step@note
    return logits.logsumexp(-1).sum() / kept


class ParameterAverage:
    def update(self):
        step = self.step.item()  # expect: sync-every-step@note
        self.step += 1
        return step


def assign(cost: Tensor, tolerance: float) -> Tensor:
    spread = float(cost.max() - cost.min())  # expect: sync-every-step@note
    return cost * (tolerance / spread)


def normalized(gramian: Tensor, eps: float) -> Tensor:
    norm = gramian.diagonal().sum()
    if norm < eps:  # expect: sync-every-step@note
        return torch.zeros_like(gramian)
    return gramian / norm


class SpeechTransformer(nn.Module):
    """A module with its pass, a part that somebody calls, and a loss within what is called a prediction."""

    def forward(self, x, target=None):
        return self._predict(x, target)

    def _predict(self, x, target):
        loss = nn.functional.l1_loss(x, target)
        return x, {"loss": loss.detach().cpu().item()}  # expect: sync-every-step@note

    def sharpened(self, x):
        return x / x.abs().max().item()  # expect: sync-every-step@note
