"""A generator gathers the batches of a step, and asks the device for their tokens: it runs in the training loop."""


class Trainer:
    def __init__(self, model, optimizer, padding, device, count):
        self.model, self.optimizer, self.padding = model, optimizer, padding
        self.device, self.count = device, count

    def _gather(self, loader):
        batches, tokens = [], 0
        for batch in loader:
            target = batch["target"].to(self.device)
            tokens += target.ne(self.padding).sum().item()  # expect: sync-every-step
            batches.append((batch["source"].to(self.device), target))
            if len(batches) == self.count:
                yield batches, tokens
                batches, tokens = [], 0

    def train(self, loader):
        for batches, tokens in self._gather(loader):
            for source, target in batches:
                loss = self.model(source, target) / tokens
                loss.backward()
            self.optimizer.step()
            self.optimizer.zero_grad()
