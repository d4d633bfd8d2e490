"""Benchmarks of this machine: each is bounded in time and bytes, cleans up, and may fail alone."""
