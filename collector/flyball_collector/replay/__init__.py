"""Recorded series, from wherever they come, in the form that the diagnosis plays."""
