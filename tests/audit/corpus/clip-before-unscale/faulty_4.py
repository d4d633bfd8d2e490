from functools import partial

import torch
from torch.nn.utils import clip_grad_norm_


def build_clipper(config):
    if "clip_norm" in config:
        return partial(clip_grad_norm_, max_norm=config["clip_norm"])
    if "clip_value" in config:
        return lambda parameters: torch.nn.utils.clip_grad_value_(parameters, config["clip_value"])
    return None


class Manager:
    def __init__(self, model, config):
        self.model = model
        self.clip_fun = build_clipper(config)
        self.optimizer = torch.optim.Adam(model.parameters())
        self.scaler = torch.amp.GradScaler("cuda", enabled=config["fp16"])

    def train(self, loader):
        for batch in loader:
            with torch.autocast("cuda"):
                loss = self.model(batch)
            self.scaler.scale(loss).backward()
            if self.clip_fun is not None:
                self.clip_fun(self.model.parameters())  # expect: clip-before-unscale
            self.scaler.step(self.optimizer)
            self.scaler.update()
            self.optimizer.zero_grad()
