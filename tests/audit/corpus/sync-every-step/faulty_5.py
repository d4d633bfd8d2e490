import lightning.pytorch as pl
import torch
from torch import nn


class Classifier(pl.LightningModule):
    def __init__(self, width: int):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(784, width), nn.ReLU(), nn.Linear(width, 10))
        self.losses = []

    def training_step(self, batch, batch_idx):
        x, y = batch
        logits = self.net(x.flatten(1))
        loss = nn.functional.cross_entropy(logits, y)
        self.losses.append(loss.item())  # expect: sync-every-step
        hits = int((logits.argmax(-1) == y).sum())  # expect: sync-every-step
        self.log("train_hits", hits)
        return loss

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=3e-4)
