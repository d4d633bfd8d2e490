"""A strategy that imports nothing of PyTorch: it is handed the network and one batch, and differentiates."""

from strategies.start import Strategy


class Distilling(Strategy):
    def __init__(self, rounds=3, **options):
        super().__init__(**options)
        self.rounds = rounds

    def __call__(self, network, inputs, targets):
        total = 0.0
        taught = network(inputs)
        for _ in range(self.rounds):
            self.choose(network)
            loss = self.criterion(network(inputs), taught)
            loss.backward()
            total += loss.item()  # expect: sync-every-step@note
        whole = self.criterion(taught, targets)
        whole.backward()
        return total + whole.item()  # expect: sync-every-step@note
