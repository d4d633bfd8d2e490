"""Loops over parameters that run once, or change no weights."""

import torch


def load_checkpoint(path, model):
    state = torch.load(path, map_location="cpu")
    for k, v in state.items():
        model.state_dict()[k].copy_(v)
    return state["epoch"].item()


def init_ema(ema, model):
    for p, q in zip(ema.parameters(), model.parameters()):
        p.data.copy_(q.data)
        p.requires_grad = False


def count_parameters(model):
    return sum(p.numel() for p in model.parameters())


class Schedule:
    def step(self, epoch):
        for group, lr in zip(self.optimizer.param_groups, self.lrs):
            group["lr"] = lr * 0.5

    def update_lr(self, step):
        for p in self.optimizer.param_groups:
            p["lr"] *= self.gamma
