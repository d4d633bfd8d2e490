"""Numbers of objects in a batch that are read one by one, and losses that a function of another file brings over."""

import torch
from losses import to_floats


class Head(torch.nn.Module):
    def get_losses(self, labels, outputs):
        counts = (labels.sum(dim=2) > 0).sum(dim=1)
        total = 0.0
        for number in range(outputs.shape[0]):
            total += int(counts[number])  # expect: sync-every-step@note
        return outputs.mean() * total


def train(net, optimizer, batches):
    history = []
    for left, right in batches:
        losses = net(left.cuda(), right.cuda())
        optimizer.zero_grad()
        losses.total.backward()
        optimizer.step()
        history.append(to_floats(losses))  # expect: sync-every-step@note
    return history
