import torch


def clear(parameters):
    for p in parameters:
        if p.grad is not None:
            p.grad.zero_()  # expect: zero-grad-to-zero


class Loop:
    def __init__(self, model, optimizer):
        self.model, self.optimizer = model, optimizer

    def run(self, batches):
        for batch in batches:
            clear(self.model.parameters())
            self.model(batch.cuda()).mean().backward()
            self.optimizer.step()
