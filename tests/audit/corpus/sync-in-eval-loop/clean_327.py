"""Turns that nothing is gone through for, and that are no evaluation by their name, or record history."""

import torch


def warm_up(iterator, network, turns, hooks):
    turn, total = 0, 0.0
    with torch.no_grad():
        while turn < turns:
            turn += 1
            total += hooks["forward"](iterator, network).detach().float().item()
    return total


def measure(iterator, network, turns, hooks):
    turn, total = 0, 0.0
    while turn < turns:
        turn += 1
        total += hooks["forward"](iterator, network).detach().float().item()
    return total
