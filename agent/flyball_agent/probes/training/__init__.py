"""Readings of the training's own processes, from the kernel alone: no client is needed."""
