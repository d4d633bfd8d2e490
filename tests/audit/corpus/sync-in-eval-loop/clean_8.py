"""A function that trains and validates goes through what it trains on."""

from elsewhere import Step


class Manager:
    def __init__(self, model, loader):
        self.model = model.cuda()
        self.step = Step(model)
        self.loader = loader

    def train_and_validate(self, epochs):
        for _ in range(epochs):
            for batch in self.loader:
                parts = self.step(self.model(batch.cuda()))
                for part in parts:
                    self.report(part.sum().item())
