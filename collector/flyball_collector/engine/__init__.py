"""Runs the diagnosis once a second over a live fleet or a recording: all detectors, then advice and the accounts."""
