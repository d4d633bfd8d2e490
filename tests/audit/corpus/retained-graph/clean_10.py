import torch
from torch import nn


class Features(nn.Module):
    """Pooling learns nothing: what was computed without history has none behind it."""

    def __init__(self, backbone: nn.Module):
        super().__init__()
        self.backbone = backbone
        self.pooler = nn.AvgPool2d(3, 1, 1)
        self.store = []

    def forward(self, x):
        with torch.no_grad():
            features = self.backbone(x)
        embedding = self.pooler(features)
        self.store.append(embedding)
        return embedding


def train(features: Features, head, loader, optimizer):
    for x, y in loader:
        loss = nn.functional.mse_loss(head(features(x.cuda())), y.cuda())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
