import numpy as np


def accuracy(scores, targets, k=1):
    """Share of the samples whose target is among the best k."""
    best = scores.topk(k, dim=1).indices.cpu().numpy()  # expect: sync-every-step
    return float(np.mean((best == targets.cpu().numpy()[:, None]).any(axis=1)))  # expect: sync-every-step
