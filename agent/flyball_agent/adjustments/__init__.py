"""Adjustments: offers of the collector to training processes, and their answers. Off unless the settings allow it."""
