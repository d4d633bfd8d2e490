import torch
from torch.nn import functional


class Detector:
    """`total` is another variable in `_step`, which differentiates its own."""

    def __init__(self, net, device):
        self.net = net.to(device)
        self.device = device
        self.optimizer = torch.optim.Adam(self.net.parameters())

    def _step(self, x):
        rebuilt = self.net(x)
        error = functional.mse_loss(rebuilt, x)
        total = error + 0.1 * rebuilt.abs().mean()
        self.optimizer.zero_grad()
        total.backward()
        self.optimizer.step()
        return total, error

    def fit(self, loader, epochs):
        for _ in range(epochs):
            total, error = 0, 0
            for x in loader:
                loss, part = self._step(x.to(self.device))
                total += loss  # expect: retained-graph@note
                error += part  # expect: retained-graph@note
            print(total / len(loader), error / len(loader))
