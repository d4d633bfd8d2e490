"""Modules, meters and steps that leave everything where it is."""

import torch, numpy as np
from torch import nn


class Head(nn.Module):
    def __init__(self, dims):
        super().__init__()
        self.dims = dims
        self.register_buffer("anchors", torch.tensor([1.0, 2.0]))
        self.stride = int(self.anchors.numel())

    def forward(self, x, sizes=None, training: bool = True):
        if self.training and training:
            b, c, h, w = x.shape
            if h > 64 or w > 64:
                x = x[:, :, :64, :64]
        if sizes is None:
            sizes = [int(s * 2) for s in x.shape[2:]]
        if isinstance(x, torch.Tensor) and x.requires_grad:
            x = x * 1
        if not torch.jit.is_scripting() and x.is_cuda:
            x = x.contiguous()
        return x.reshape(b, -1), float(len(sizes))


class Metrics:
    def update(self, pred, gt):
        self.total += (pred == gt).sum()
        self.n += gt.numel()

    def compute(self):
        return (self.total / self.n).item()


class Logger:
    def update(self, **kwargs):
        for k, v in kwargs.items():
            self.meters[k].append(v)

    def log_step(self, step, scalars):
        for k, v in scalars.items():
            self.writer.add_scalar(k, v, step)


def train_step(model, batch, opt):
    loss = model(batch["x"].cuda(non_blocking=True)).mean()
    loss.backward()
    opt.step()
    opt.zero_grad(set_to_none=True)
    return loss.detach()


def fit(model, loader, opt, log_every=100):
    total = torch.zeros((), device="cuda")
    for i, batch in enumerate(loader):
        total += train_step(model, batch, opt)
        if i % log_every == 0:
            print(total.item() / (i + 1))


@torch.no_grad()
def update_bn(loader, model):
    for batch in loader:
        model(batch["x"].cuda())


def compute_class_weights(dataset):
    counts = torch.bincount(torch.tensor(dataset.targets))
    return (counts.sum() / counts).tolist()


class Replay:
    def add_batch(self, s, a, r):
        self.data.append((s.numpy(), int(a), float(r)))


def get_loss_fn(name):
    return {"mse": nn.MSELoss(), "l1": nn.L1Loss()}[name]


def plot_losses(losses):
    return [l.item() for l in losses]
