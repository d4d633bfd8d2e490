import torch
from functools import partial


class Updater:
    """The engine has unscaled before it asks for the step."""

    def __init__(self, optimizer, network, limit):
        self.optimizer, self.network, self.limit = optimizer, network, limit

    def step(self, grad_scaler):
        torch.nn.utils.clip_grad_norm_(self.network.parameters(), self.limit)
        grad_scaler.step(self.optimizer)
        grad_scaler.update()


class Engine:
    def __init__(self, model, updater):
        self.model, self.updater = model, updater
        self.scaler = torch.cuda.amp.GradScaler()
        self.clip = partial(torch.nn.utils.clip_grad_norm_, max_norm=1.0)

    def run(self, loader):
        for x, y in loader:
            with torch.autocast("cuda"):
                loss = torch.nn.functional.mse_loss(self.model(x), y)
            self.scaler.scale(loss).backward()
            self.scaler.unscale_(self.updater.optimizer)
            self.updater.step(self.scaler)

    def tune(self, loader, optimizer):
        for x, y in loader:
            loss = torch.nn.functional.mse_loss(self.model(x), y)
            self.scaler.scale(loss).backward()
            self.scaler.unscale_(optimizer)
            self.clip(self.model.parameters())
            self.scaler.step(optimizer)
            self.scaler.update()

    def plain(self, loader, optimizer):
        for x, y in loader:
            loss = torch.nn.functional.mse_loss(self.model(x), y)
            loss.backward()
            self.clip(self.model.parameters())
            optimizer.step()
