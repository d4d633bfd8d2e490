"""A prediction that gives its graph to whoever asks."""

import torch


class Estimator:
    def __init__(self, net):
        self.model = torch.nn.Sequential(net)

    def fit(self, x, y, optimizer):
        loss = (self.model(x) - y).pow(2).mean()
        loss.backward()
        optimizer.step()

    def predict_proba(self, x):
        return torch.softmax(self.model(x), dim=1)  # expect: no-grad-missing-in-eval@note
