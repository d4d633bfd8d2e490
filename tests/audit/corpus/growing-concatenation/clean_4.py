import numpy as np


def extend(known, loader):
    """Each turn looks for something in all that was gathered."""
    for name in loader:
        if name not in known:
            known = np.concatenate([known, [name]])
    return known


def merge(batch, parts):
    """Each turn joins the parts of another entry."""
    for key in batch.keys:
        batch[key] = np.concatenate(batch[key], axis=parts[0].axis_of(key))
    return batch


def first(loader, wanted):
    """A few parts are enough."""
    found = np.zeros((0, 3))
    for x in loader:
        found = np.concatenate((found, x[: wanted - found.shape[0]]))
        if found.shape[0] == wanted:
            break
    return found
