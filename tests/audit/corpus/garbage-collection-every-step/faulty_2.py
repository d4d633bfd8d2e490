from gc import collect as tidy


class Trainer:
    def __init__(self, model, optimizer):
        self.model, self.optimizer = model, optimizer

    def _step(self, batch):
        self.model(batch.cuda()).mean().backward()
        self.optimizer.step()
        self.optimizer.zero_grad()
        del batch
        tidy()  # expect: garbage-collection-every-step@warning

    def fit(self, batches):
        for batch in batches:
            self._step(batch)
