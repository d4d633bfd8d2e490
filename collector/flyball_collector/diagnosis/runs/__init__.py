"""Diagnoses runs and their ranks: stragglers, slowdowns, hangs, remaining time."""
