import train


def prepare(model):
    """Modules that import each other."""
    return model if train else None
