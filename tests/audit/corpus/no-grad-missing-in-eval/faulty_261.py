import torch
from torch import nn
from torch.utils.data import DataLoader


class Estimator:
    def __init__(self, model: nn.Module, criterion, optimizer, is_checked=False):
        self.is_checked = is_checked
        self.model = model
        self.criterion = criterion
        self.optimizer = optimizer

    def fit(self, loader):
        self.model.train()
        for x, y in loader:
            self.optimizer.zero_grad()
            self.criterion(self.model(x), y).backward()
            self.optimizer.step()

    def predict(self, x):
        with torch.inference_mode():
            out = self.model(x)
        return out.cpu()

    def predict_checked(self, x):
        out = self.model(x)
        return out

    def guesses(self, loader: DataLoader):
        self.model.eval()
        for x, y in loader:  # expect: no-grad-missing-in-eval@warning
            if self.is_checked:
                guess = self.predict_checked(x)
            else:
                guess = self.predict(x)
            yield x, y, guess
