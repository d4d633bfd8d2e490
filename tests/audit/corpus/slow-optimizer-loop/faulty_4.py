"""Averages of weights, name by name."""

import torch
from torch.nn.functional import mse_loss


def follow(slow, fast, decay=0.999):
    own = dict(slow.named_parameters())
    other = dict(fast.named_parameters())
    for name in own.keys():
        own[name].data.mul_(decay).add_(other[name].data, alpha=1 - decay)  # expect: slow-optimizer-loop


def average(slow, fast, decay=0.999):
    for own, other in zip(slow.parameters(), fast.parameters()):
        own.data = decay * own.data + (1 - decay) * other.data  # expect: slow-optimizer-loop


def fit(net, target, loader, delay):
    net = net.cuda()
    optimizer = torch.optim.Adam(net.parameters())
    for step, picture in enumerate(loader):
        loss = mse_loss(net(picture.cuda()), picture.cuda())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        follow(target, net)
        average(target, net)
        if step % delay == 0:
            for own, other in zip(target.parameters(), net.parameters()):
                own.data.copy_(0.1 * other.data + 0.9 * own.data)  # expect: slow-optimizer-loop@note
