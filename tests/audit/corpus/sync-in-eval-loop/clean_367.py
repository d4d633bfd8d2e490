"""Predictions that are collected on the device, pages of files, and slices of what no model gives."""

import torch


def predict(network, loader):
    answers = []
    with torch.no_grad():
        for rows in loader:
            answers.append(network(rows))
    return torch.cat(answers).cpu()


def embed_paths(paths, size):
    found = []
    for start in range(0, len(paths), size):
        found.extend(str(each) for each in paths[start : start + size])
    return found
