"""Averages of weights, name by name."""

import torch
from torch.nn.functional import mse_loss


def follow(slow, fast, decay=0.999):
    own = dict(slow.named_parameters())
    other = dict(fast.named_parameters())
    for name in own.keys():
        own[name].data.mul_(decay).add_(other[name].data, alpha=1 - decay)  # expect: slow-optimizer-loop


def fit(net, average, loader):
    net = net.cuda()
    optimizer = torch.optim.Adam(net.parameters())
    for picture in loader:
        loss = mse_loss(net(picture.cuda()), picture.cuda())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        follow(average, net)
