"""Captures of training processes on the collector's order: stacks, traces, memory."""
