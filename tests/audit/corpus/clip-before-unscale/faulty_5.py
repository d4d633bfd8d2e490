import torch


class Updater:
    """Clips and steps; the scaler comes from outside."""

    def __init__(self, optimizer, network, limit):
        self.optimizer, self.network, self.limit = optimizer, network, limit

    def step(self, grad_scaler=None):
        if self.limit:
            torch.nn.utils.clip_grad_norm_(self.network.parameters(), self.limit)  # expect: clip-before-unscale
        if grad_scaler is not None:
            grad_scaler.step(self.optimizer)
            grad_scaler.update()
        else:
            self.optimizer.step()


class Engine:
    def __init__(self, model, updater):
        self.model, self.updater = model, updater
        self.scaler = torch.cuda.amp.GradScaler()

    def run(self, loader):
        for x, y in loader:
            with torch.autocast("cuda"):
                loss = torch.nn.functional.mse_loss(self.model(x), y)
            self.scaler.scale(loss).backward()
            self.updater.step(grad_scaler=self.scaler)
