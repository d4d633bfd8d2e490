"""Compares GPUs with their peers: GPUs of the same model in the same run, host or fleet."""
