"""Scores how much each resource limits the work of a host and its GPUs, with a confidence."""
