import numpy as np


def evaluate(forest, folds):
    """A model of scikit-learn: nothing here is on a device."""
    hits = 0
    for features, labels in folds:
        guess = forest.predict(features)
        hits += (guess == labels).sum().item()
        print(float(np.mean(guess)))
    return hits
