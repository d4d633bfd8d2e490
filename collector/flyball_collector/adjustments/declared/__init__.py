"""Declarations: the values that the ranks of runs can change."""
