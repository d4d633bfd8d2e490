from contextlib import nullcontext

import torch


class Tester(torch.nn.Module):
    def __init__(self, model, without_history):
        super().__init__()
        self.model, self.without_history = model, without_history

    def infer(self, loader):
        self.model.eval()
        context = torch.no_grad() if self.without_history else nullcontext()
        right = 0
        with context:
            for x, y in loader:
                right += (self.model(x.cuda()).argmax(1) == y.cuda()).sum().item()
        return right

    def evaluate(self, loader):
        self.eval()
        return [self.test_step(x.cuda(), y.cuda()) for x, y in loader]

    def test(self, loader):
        self.eval()
        logs = {}
        for x, y in loader:
            logs = self.test_step(x.cuda(), y.cuda())
        return logs

    def test_step(self, x, y):
        with torch.no_grad():
            return (self.model(x).argmax(1) == y).sum()

    def infer_at_once(self, loader):
        self.model.eval()
        right = 0
        with torch.no_grad() if self.without_history else nullcontext():
            for x, y in loader:
                right += (self.model(x.cuda()).argmax(1) == y.cuda()).sum().item()
        return right
