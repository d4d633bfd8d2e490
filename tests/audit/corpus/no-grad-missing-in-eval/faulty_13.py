"""Answers of a model that is switched to evaluation, and passes of which nothing is taken."""

import copy

import numpy as np
import torch
from torch import nn


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(3, 3)

    def forward(self, x):
        return self.body(x)


class Tagger:
    def __init__(self):
        self.model = Classifier().cuda()

    def get_logits(self, batch):
        self.model.eval()
        outputs = self.model(batch)  # expect: no-grad-missing-in-eval@note
        return outputs[-1]

    def predict(self, loader, users):
        self.model.eval()
        known = self.model(users)  # expect: no-grad-missing-in-eval@note
        hits = []
        for user in loader:
            hits.append(rank(known[user]))
        return np.mean(hits)

    def by_name(self, batch, names):
        values = self.model(batch)  # expect: no-grad-missing-in-eval@note
        return [{name: each.item() for name, each in zip(names, row)} for row in values]


def rank(row):
    return int(torch.argmax(row)) < 5


def recalibrate(loader, device):
    model = Classifier().to(device)
    model.train()
    for batch in loader:  # expect: no-grad-missing-in-eval@note
        model(batch.to(device))
    model.eval()
    return copy.deepcopy(model)
