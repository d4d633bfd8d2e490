import numpy as np
import torch


class Trainer:
    """Numbers stay numbers: what is asked for is another type, another name, or the other arm reads."""

    def __init__(self, model, optimizer, device, criterion):
        self.model = model.to(device)
        self.optimizer = optimizer
        self.device = device
        self.criterion = criterion
        self.shown = {}
        self.losses = []

    def fit(self, loader, rates):
        losses = [0.5]
        for x, y in loader:
            self.optimizer.zero_grad()
            loss = self.criterion(self.model(x.to(self.device)), y.to(self.device))
            loss.backward()
            self.optimizer.step()
            self.tell(np.float64(0.5), rates)
            self.shown["last"] = float(losses[-1])

    def tell(self, rate, rates):
        if isinstance(rate, np.ndarray):
            self.shown["rate"] = rate.item()
        if isinstance(rates, torch.Tensor):
            self.shown["other"] = rate.item()
        if not isinstance(rate, torch.Tensor):
            self.shown["number"] = rate.item()
        if hasattr(rate, "mean"):
            self.shown["mean"] = rate.item()
