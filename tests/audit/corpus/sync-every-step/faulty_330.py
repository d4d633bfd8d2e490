import numpy as np
import torch
from torch import nn


def loss_of(output, target):
    targets = target.cpu() if target.is_cuda else target  # expect: sync-every-step
    classes = np.unique(targets)
    first = len(torch.nonzero(targets.eq(int(classes[0]))))
    return nn.functional.cross_entropy(output, target) * first


def train(loader):
    model = nn.Linear(3, 3).cuda()
    optimizer = torch.optim.Adam(model.parameters())
    for x, y in loader:
        x, y = x.cuda(), y.cuda()
        optimizer.zero_grad()
        loss = loss_of(model(x), y)
        loss.backward()
        optimizer.step()
