"""Only who looks into it asks for numbers; the training's own calls leave that off."""

import torch


class Autoencoder:
    def __init__(self, network):
        self.network = network.cuda()
        self.optimizer = torch.optim.Adam(network.parameters())

    def parts(self, x, report):
        distance = (self.network(x) - x).pow(2).mean()
        penalty = self.network(x).abs().mean()
        loss = distance + penalty
        if not report:
            return loss
        return {"distance": distance.item(), "penalty": penalty.item(), "loss": loss.item()}  # expect: sync-every-step@note

    def loss(self, x, step, report=False):
        return self.parts(x, report)

    def fit(self, loader):
        for step, x in enumerate(loader):
            loss = self.loss(x.cuda(), step=step)
            loss.backward()
            self.optimizer.step()
