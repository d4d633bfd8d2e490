import abc

from torch.utils.data import DataLoader


class Solver(abc.ABC):
    def __init__(self, network, criterion, optimizer):
        self.network = network
        self.criterion = criterion
        self.optimizer = optimizer

    def _answers(self, batch):
        raise NotImplementedError

    @abc.abstractmethod
    def validation_step(self, batch):
        pass

    def step(self, batch):
        self.optimizer.zero_grad()
        loss = self.criterion(self._answers(batch), batch.label)
        loss.backward()
        self.optimizer.step()

    def fit(self, loader, held, epochs):
        for _ in range(epochs):
            for batch in loader:
                self.step(batch)
            self.validation(held)
            self.validation_epoch(held)

    def validation(self, loader):
        total = 0
        for batch in loader:
            answers = self._answers(batch)  # expect: no-grad-missing-in-eval@note
            total += self.criterion(answers, batch.label).item()
        return total

    def validation_epoch(self, loader):
        found = []
        for batch in loader:
            found.append(self.validation_step(batch))  # expect: no-grad-missing-in-eval@note
        return found


class Pipeline:
    def __init__(self, tagger, optimizer):
        self.tagger = tagger
        self.optimizer = optimizer

    def train(self, data):
        for batch in DataLoader(data, num_workers=4):
            self.tagger(batch).backward()
            self.optimizer.step()

    def score(self, data):
        self.tagger.eval()
        found = []
        for batch in DataLoader(data):
            found += self.tagger.predict(batch)  # expect: no-grad-missing-in-eval@note
        return found


def rate(loader, distance):
    found = []
    for pair in loader:
        found += distance(pair["left"], pair["right"]).data.cpu().numpy().tolist()  # expect: no-grad-missing-in-eval@note
    return found
