"""Predict memory, time and cost before a run."""
