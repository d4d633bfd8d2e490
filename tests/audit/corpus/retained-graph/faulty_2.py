import torch


class Trainer:
    def __init__(self, model, optimizer):
        self.model, self.optimizer = model, optimizer
        self.epoch_loss = 0.0
        self.history = []

    def training_step(self, batch):
        out = self.model(batch["x"].cuda())
        return torch.nn.functional.mse_loss(out, batch["y"].cuda())

    def fit(self, loader):
        for batch in loader:
            loss = self.training_step(batch)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            self.epoch_loss = self.epoch_loss + loss * len(batch)  # expect: retained-graph@note
            self.history.append(loss)  # expect: retained-graph@note
