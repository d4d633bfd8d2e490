"""Calibration: estimates that are corrected by measured runs, as far as the measurements support it."""
