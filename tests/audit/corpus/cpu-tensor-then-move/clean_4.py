import torch


class Smoothed:
    """Made once, when the first batch tells how large it must be, and kept."""

    def __init__(self, model, device):
        self.model = model.to(device)
        self.device = device
        self.weights = None

    def train(self, loader, optimizer):
        for x in loader:
            if self.weights is None or len(self.weights) != len(x):
                self.weights = torch.ones(len(x), 1).to(self.device)
            loss = (self.model(x.to(self.device)) * self.weights).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
