"""A training loop in NumPy: `.item()` here waits for nobody."""
import numpy as np


def sgd(features, targets, rate=0.01, epochs=100):
    weights = np.zeros(features.shape[1])
    history = []
    for _epoch in range(epochs):
        residual = features @ weights - targets
        gradient = 2 * features.T @ residual / len(targets)
        weights -= rate * gradient
        loss = np.mean(residual**2)
        history.append(loss.item())
        if bool(loss < 1e-6):
            break
    return weights, history


def count_tokens(batch):
    return int(np.asarray(batch).sum().item())
