import torch

from meters import AverageMeter


def train(model, loader, optimizer):
    meter = AverageMeter()
    for x, y in loader:
        loss = torch.nn.functional.l1_loss(model(x.cuda()), y.cuda())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        meter.update(loss, x.size(0))
    return meter.average
