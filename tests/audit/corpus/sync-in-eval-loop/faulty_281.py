import abc

import torch
from meters import Meter


class Solver(abc.ABC):
    """Validates every so many steps, by what its kinds define; nobody sees a model run there."""

    def __init__(self, model, criterion, optimizer, device):
        self.model = model.to(device)
        self.criterion = criterion
        self.optimizer = optimizer
        self.device = device

    @abc.abstractmethod
    def infer(self, batch):
        """What the criterion takes."""

    def fit(self, loader, held_out, every):
        for step, batch in enumerate(loader):
            self.optimizer.zero_grad()
            loss = self.criterion(self.model(batch.to(self.device)))
            loss.backward()
            self.optimizer.step()
            if step % every == 0:
                self.validation(held_out)

    def validation(self, loader):
        total = Meter()
        for _, batch in loader:
            loss = self.criterion(*self.infer(batch))
            total.add(loss.item())  # expect: sync-in-eval-loop@note
        return total.average


class Scoring:
    """At the end of each epoch, by the step of a framework's net."""

    def on_epoch_end(self, net, loader):
        kept = []
        for batch in loader:
            scores = net.evaluation_step(batch, training=False)
            kept.append(scores.to(device="cpu"))  # expect: sync-in-eval-loop@note
        return torch.cat(kept)
