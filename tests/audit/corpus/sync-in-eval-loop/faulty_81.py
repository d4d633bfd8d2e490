import torch


class Learner:
    def run_batch(self, batch, state):
        self.pred = self.model(batch.x.cuda())
        self.loss = self.criterion(self.pred, batch.y.cuda())
        if state == "train":
            self.optimizer.zero_grad()
            self.loss.backward()
            self.optimizer.step()
        return self.loss

    def fit(self, loader):
        for batch in loader:
            self.run_batch(batch, "train")

    def evaluate(self, loader):
        self.model.eval()
        total = 0
        with torch.no_grad():
            for batch in loader:
                total += self.run_batch(batch, "valid").item()  # expect: sync-in-eval-loop@note
        return total


def run(model, loader, criterion, optimizer, train=False, returns=False):
    found = []
    for x, y in loader:
        output = model(x.cuda())
        loss = criterion(output, y.cuda())
        if returns:
            found.append(float(output[0].exp()))  # expect: sync-in-eval-loop@note
        if train:
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return found


def main(model, loader, other, criterion, optimizer, **options):
    run(model, loader, criterion, optimizer, train=True, **options)
    return run(model, other, criterion, optimizer, returns=True, **options)


class Leaver:
    def run_batch(self, batch):
        self.loss = self.criterion(self.model(batch.x.cuda()), batch.y.cuda())
        if not self.training:
            return self.loss
        self.optimizer.zero_grad()
        self.loss.backward()
        self.optimizer.step()
        return self.loss

    def fit(self, loader):
        for batch in loader:
            self.run_batch(batch)

    def evaluate(self, loader):
        self.model.eval()
        total = 0
        with torch.no_grad():
            for batch in loader:
                total += self.run_batch(batch).item()  # expect: sync-in-eval-loop@note
        return total
