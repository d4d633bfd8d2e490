"""Evaluations that are seen by their names alone: held-out data of which nobody knows what they are, and so many turns."""

import torch


class Flow:
    def __init__(self, network, device):
        self.network, self.device = network, device

    def validate(self, val_data):
        self.network.eval()
        total, count = 0, 0
        for data in val_data:
            with torch.no_grad():
                total += -self.network.log_prob(data[0].to(self.device)).mean().item()  # expect: sync-in-eval-loop@note
            count += 1
        return total / count


def evaluate(iterator, network, turns, hooks):
    forward_step = hooks["forward_step"]
    network.eval()
    total, turn = 0, 0
    with torch.no_grad():
        while turn < turns:
            turn += 1
            loss, _ = forward_step(iterator, network)
            total += loss.detach().float().item()  # expect: sync-in-eval-loop@note
    return total / turns
