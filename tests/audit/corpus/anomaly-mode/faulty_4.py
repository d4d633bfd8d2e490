import torch
from torch import autograd


class Solver:
    def run(self, loader):
        torch.autograd.set_detect_anomaly(mode=True)  # expect: anomaly-mode
        for x in loader:
            with autograd.detect_anomaly():  # expect: anomaly-mode
                loss = self.model(x.cuda()).mean()
                loss.backward()
            self.optimizer.step()
            self.optimizer.zero_grad()


def other(model, loader, optimizer):
    with torch.autograd.set_detect_anomaly(True):  # expect: anomaly-mode
        for x in loader:
            loss = model(x.cuda()).mean()
            loss.backward()
            optimizer.step()


def lightning(model, data):
    import pytorch_lightning as pl

    trainer = pl.Trainer(max_epochs=3, detect_anomaly=True)  # expect: anomaly-mode
    trainer.fit(model, data)
