"""Adjustments as people see them: in words, on the timeline, as figures and as alerts."""
