"""A part of a step that whoever trains feeds with a batch, as its name and what it is handed say."""

import torch


class Maker:
    def __init__(self, network, criterion, device):
        self.network, self.criterion, self.device = network.to(device), criterion, device

    def feed(self, batch):
        made = self.network(batch.to(self.device))
        loss = self.criterion(made, batch)
        return made, {"loss": loss, "shown": loss.item()}  # expect: sync-every-step@note
