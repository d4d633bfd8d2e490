import abc

import torch
from torch.utils.data import DataLoader


class Solver(abc.ABC):
    def __init__(self, network, criterion, optimizer):
        self.network = network
        self.criterion = criterion
        self.optimizer = optimizer

    def _answers(self, batch):
        raise NotImplementedError

    def step(self, batch):
        self.optimizer.zero_grad()
        loss = self.criterion(self._answers(batch), batch.label)
        loss.backward()
        self.optimizer.step()

    def fit(self, loader, held, epochs):
        for _ in range(epochs):
            for batch in loader:
                self.step(batch)
            with torch.no_grad():
                self.validation(held)
            self.count(held)
            self.sensitivity(held)

    def validation(self, loader):
        total = 0
        for batch in loader:
            answers = self._answers(batch)
            total += self.criterion(answers, batch.label).item()
        return total

    def count(self, loader):
        seen = 0
        for batch in loader:
            seen += self.size_of(batch).item()
        return seen

    def size_of(self, batch):
        return torch.tensor(len(batch.label))

    def sensitivity(self, test_loader):
        found = []
        for batch in test_loader:
            batch.x.requires_grad_()
            answers = self._answers(batch)
            found.append(torch.autograd.grad(answers.sum(), batch.x)[0].detach())
        return found


class Pipeline:
    def __init__(self, tagger):
        self.tagger = tagger

    @torch.inference_mode()
    def score(self, data):
        self.tagger.eval()
        found = []
        for batch in DataLoader(data):
            found += self.tagger.predict(batch)
        return found


def rate(loader, measure):
    found = []
    for pair in loader:
        found.append(measure(pair["left"], pair["right"]))
    return found


def score_parts(model, head, loader):
    model.eval()
    found = []
    for batch in loader:
        x, y = head.sorted(batch)
        with torch.no_grad():
            found.append(model(x))
        y.detach()
    return found


def validate_pgd(model, attacker, loader):
    model.eval()
    found = []
    for x, y in loader:
        found.append(attacker(x, y).detach())
    return found


def evaluate(bundle, reader):
    bundle.eval()
    return [bundle.read(part) for part in reader.data]
