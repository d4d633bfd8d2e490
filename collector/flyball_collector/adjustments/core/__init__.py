"""Offers, answers and decisions, from the proposal to the end: no clock, no I/O."""
