"""Predictions and embeddings that are brought over batch by batch; slices of rows that are scored."""

import torch


class Encoder:
    def __init__(self, model):
        self.model = model

    def encode(self, rows, loader):
        found = []
        with torch.no_grad():
            for batch in loader:
                found.append(self.model(batch["text"]).cpu().numpy())  # expect: sync-in-eval-loop@note
        return found

    def predict(self, network, data_iterator):
        answers, loss = [], 0.0
        with torch.no_grad():
            for rows, labels in data_iterator:
                given = network(rows)
                loss += torch.nn.functional.mse_loss(given, labels).item()  # expect: sync-in-eval-loop@note
                answers.append(given)
        return answers, loss


def score_pairs(compare, left, right, size):
    scores = []
    steps = range(0, len(left), size)
    for start in steps:
        some = compare(left[start : start + size], right[start : start + size])
        scores.append(torch.stack(some).cpu())  # expect: sync-in-eval-loop@note
    return torch.cat(scores)
