"""A trainer of our own, which tells whoever listens."""

import torch


class Runner:
    def __init__(self, net, algorithm, listeners):
        self.net, self.algorithm, self.listeners = net, algorithm, listeners

    def emit(self, hook, *rest):
        for each in self.listeners:
            getattr(each, hook)(self, *rest)

    def fit(self, loader, epochs):
        for epoch in range(epochs):
            self.emit("before_epoch")
            for batch in loader:
                self.emit("before_batch")
                report = self.algorithm.train_step(**self.algorithm.prepare(batch))
                for each in self.listeners:
                    each.after_report(self, report)
            self.emit("after_epoch")
