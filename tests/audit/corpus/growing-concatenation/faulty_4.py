import numpy as np


def names_of(adata, batch_parts):
    """An object has a handful of parts, and this runs once."""
    names = np.array([])
    for layer in adata.layers:
        names = np.concatenate((names, adata.registry[layer]))  # expect: growing-concatenation@note
    times = np.array([])
    for _, part in batch_parts.items():
        times = np.append(times, part.time)  # expect: growing-concatenation@note
    return names, times
