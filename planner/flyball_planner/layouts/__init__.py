"""Parallel layouts: how a training is distributed over devices, and the rules for possible layouts."""
