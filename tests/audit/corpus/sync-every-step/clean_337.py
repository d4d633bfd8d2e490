"""What computes with tensors once, for somebody who wants numbers, or around a training."""

import torch
from torch import Tensor, nn


def init_scale(weight: Tensor) -> float:
    return weight.abs().max().item()


def to_text(scores: Tensor) -> str:
    return f"{scores.max().item():.3f}"


def solve(cost: Tensor, max_iter: int) -> Tensor:
    for _ in range(max_iter):
        if cost.abs().max().item() < 1e-6:
            break
        cost = cost / 2
    return cost


def select_rows(scores: Tensor) -> list[int]:
    return scores.topk(3).indices.tolist()


class Net(nn.Module):
    def largest(self):
        return self.out.weight.abs().max().item()

    def sample_one(self, x):
        return torch.multinomial(x, 1).item()

    def matches(self, mask):
        if torch.any(mask):
            return mask.float()
        return mask


class Scaled(torch.optim.Optimizer):
    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                p.data.add_(p.grad, alpha=-group["lr"])  # expect: slow-optimizer-loop@note
