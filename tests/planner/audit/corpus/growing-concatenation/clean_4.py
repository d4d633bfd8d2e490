import numpy as np


def extend(known, loader):
    """Each turn looks for something in all that was gathered."""
    for name in loader:
        if name not in known:
            known = np.concatenate([known, [name]])
    return known
