"""Look-alikes: history is off, wanted, or of one dry run."""

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
        self.model(torch.zeros(1, 3).cuda())

    @torch.no_grad()
    def get_logits(self, batch):
        self.model.eval()
        return self.model(batch)[-1]

    def get_scores(self, batch):
        """Whose gradient is the explanation."""
        self.model.eval()
        batch.requires_grad_()
        scores = self.model(batch)
        return torch.autograd.grad(scores.sum(), batch)

    def fine_tune(self, batch):
        """Frozen statistics, and a graph for whoever calls."""
        self.model.eval()
        return self.model(batch)


def recalibrate(loader, device):
    model = Classifier().to(device)
    with torch.no_grad():
        for batch in loader:
            model(batch.to(device))
    return model


def hooked(loader, kept, optimizer):
    """What a hook keeps of each pass is differentiated."""
    model = Classifier().cuda()
    for batch in loader:
        model(batch)
        kept.pop().sum().backward()
        optimizer.step()
