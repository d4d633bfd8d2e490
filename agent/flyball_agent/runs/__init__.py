"""Runs on this host: step reports of training processes, and attribution of GPU processes to runs."""
