from functools import partial

from torch import nn


def build_clipper(cfg):
    clip_fun = None
    if cfg["clip_value"] is not None:
        clip_fun = partial(nn.utils.clip_grad_value_, clip_value=cfg["clip_value"])
    elif cfg["clip_norm"] is not None:
        clip_fun = partial(nn.utils.clip_grad_norm_, max_norm=cfg["clip_norm"])
    return clip_fun


class Manager:
    def __init__(self, model, optimizer, scaler, cfg):
        self.model, self.optimizer, self.scaler = model, optimizer, scaler
        self.clip_fun = build_clipper(cfg)

    def step(self, loss):
        self._backward(loss)
        if self.clip_fun is not None:
            self.clip_fun(parameters=self.model.parameters())  # expect: clip-before-unscale@warning
        if self.scaler is None:
            self.optimizer.step()
        else:
            self.scaler.step(self.optimizer)
            self.scaler.update()

    def _backward(self, loss):
        if self.scaler is None:
            loss.backward()
        else:
            self.scaler.scale(loss).backward()
