import torch
from torch import nn
from own.scores import Score


class MetricLog:
    def __init__(self):
        self.sums, self.counts = {}, {}

    def add_metric(self, name, value):
        if torch.is_tensor(value):
            value = value.item()  # expect: sync-every-step@note
        self.sums[name] = self.sums.get(name, 0.0) + value
        self.counts[name] = self.counts.get(name, 0) + 1


class HitMetric(Score):
    def __call__(self, scores, wanted):
        hits = super().__call__(scores, wanted)
        self.kept.append(hits.detach().cpu())  # expect: sync-every-step@note
        return hits


class WordMetric(Score):
    def update(self, scores, wanted):
        best = torch.argmax(scores, dim=-1)
        self.words += best.tolist()  # expect: sync-every-step@note
        self.sure += float(torch.exp(scores).mean())  # expect: sync-every-step@note


class Runner:
    def _run_backward(self, outputs, targets):
        loss = self.criterion(outputs, targets)
        if not torch.isfinite(loss):  # expect: sync-every-step@note
            raise FloatingPointError("the loss is not finite")
        self.wrapped.optimize(loss)

    def on_batch(self, batch, loss):
        self.history.append(loss.item())  # expect: sync-every-step@note
