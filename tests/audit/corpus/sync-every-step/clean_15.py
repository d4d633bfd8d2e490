"""Callbacks that read now and then, and what only looks like one."""

from dataclasses import dataclass

import numpy as np
import torch
from fastai.callback.core import Callback
from torch import nn
from transformers import TrainerCallback


class Smooth(Callback):
    def before_fit(self):
        self.curve = []

    def after_loss(self):
        self.curve.append(self.learn.loss.detach())

    def after_epoch(self):
        print(torch.stack(self.curve).mean().item())


class Probe(TrainerCallback):
    def on_step_end(self, args, state, control, model=None, **kwargs):
        if state.global_step % 50 == 0:
            print(model.lm_head.weight.norm().item())

    def on_train_end(self, args, state, control, model=None, **kwargs):
        print(model.lm_head.weight.norm().item())


@dataclass
class Meter:
    total: float = 0.0
    count: int = 0

    def update(self, value: float, n: int = 1):
        self.total += float(value) * n
        self.count += n


class Buffer:
    def add_batch(self, state: np.ndarray, reward: float):
        self.state, self.reward = state.tolist(), float(reward)


class Net(nn.Module):
    def __init__(self, width, depth):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(width, width) for _ in range(depth))
        self.scale = float(width) ** -0.5
        self.rates = [each.item() for each in torch.linspace(0, 0.1, depth)]

    def forward(self, x, mask=None, last=False, size=(2, 3)):
        if mask is not None and x.dim() == 3:
            x = x * mask
        rows = int(x.shape[0])
        if last and all(each > 1 for each in size):
            x = x.reshape(rows, -1)
        for layer in self.layers:
            x = layer(x) * self.scale
        return x

    def calculate_loss(self, batch):
        return nn.functional.mse_loss(self(batch["x"]), batch["y"])

    @torch.no_grad()
    def predict(self, x):
        return self(x).cpu().numpy()

    def extra_repr(self):
        return f"{self.layers[0].weight.abs().max().item():.2f}"


def saliency(net, picture):
    picture.requires_grad_(True)
    net(picture).max().backward()
    return picture.grad.abs().cpu().numpy()
