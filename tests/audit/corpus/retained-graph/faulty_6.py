import torch
from lightning import LightningModule
from torch import nn


class Gatherer(LightningModule):
    """Without an optimizer nothing is trained: what a frozen network gives is gathered, once."""

    def __init__(self, backbone: nn.Module):
        super().__init__()
        self.backbone = backbone
        self.store = []

    @staticmethod
    def configure_optimizers():
        return

    def training_step(self, batch):
        features = self.backbone(batch)
        self.store.append(features)  # expect: retained-graph@note
        return torch.tensor(0.0, requires_grad=True)


class Learner(LightningModule):
    def __init__(self, net: nn.Module):
        super().__init__()
        self.net = net
        self.store = []

    def configure_optimizers(self):
        return torch.optim.Adam(self.net.parameters())

    def training_step(self, batch):
        features = self.net(batch)
        self.store.append(features)  # expect: retained-graph@warning
        return features.mean()
