"""Runs a task at growing sizes, finds the law of its time, and predicts much larger sizes."""
