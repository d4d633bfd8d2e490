"""Runs a command or function with many configurations and ranks them by throughput."""
