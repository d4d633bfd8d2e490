"""Counts under a class's number, and a model that gives its losses."""

import torch
from torch import nn


def test(model, test_loader):
    model.eval()
    right = list(0.0 for _ in range(10))
    with torch.no_grad():
        for images, labels in test_loader:
            images, labels = images.cuda(), labels.cuda()
            hits = (model(images).argmax(1) == labels).float()
            for i in range(20):
                label = labels[i]
                right[label] += hits[i]  # expect: sync-in-eval-loop@note
    return right


class ModelWithLoss(nn.Module):
    def __init__(self, net):
        super().__init__()
        self.net = net

    def forward(self, images, boxes):
        return nn.functional.l1_loss(self.net(images), boxes)


def check(net, val_loader):
    model = ModelWithLoss(net).cuda()
    model.eval()
    losses = []
    for data in val_loader:
        with torch.no_grad():
            loss = model(data["image"].cuda(), data["boxes"].cuda())
            losses.append(loss.item())  # expect: sync-in-eval-loop@note
    return losses


class Head(nn.Module):
    def logits_to_preds(self, logits, **others):
        return logits.cpu().numpy().argmax(1)  # expect: sync-in-eval-loop@note
