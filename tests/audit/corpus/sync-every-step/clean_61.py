"""The like of a strategy, of an own little autograd: what `backward` is called of is no tensor."""

from strategies.start import Strategy


class Number:
    def __init__(self, value):
        self.value = value

    def backward(self):
        return 1.0

    def item(self):
        return self.value


class Distilling(Strategy):
    def __call__(self, network, inputs, targets):
        loss = self.criterion(network(inputs), targets)
        loss.backward()
        return loss.item()
