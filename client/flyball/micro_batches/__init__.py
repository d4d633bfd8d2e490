"""Micro-batches: a batch is computed in slices, whose size may change while the training runs."""
