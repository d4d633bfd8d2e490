import torch
from collections import defaultdict


def train(net, loader, opt):
    sums = defaultdict(float)
    for images, boxes in loader:
        losses = net(images.cuda(), boxes.cuda())
        loss = sum(losses.values())
        opt.zero_grad()
        loss.backward()
        opt.step()
        sums["total"] += loss  # expect: retained-graph@note
    return {name: float(value) for name, value in sums.items()}
