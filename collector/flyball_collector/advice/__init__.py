"""Advises what to change, with the reason and the expected effect."""
