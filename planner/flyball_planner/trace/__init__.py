"""A user's own torch module, run without weights or device to learn what it costs."""
