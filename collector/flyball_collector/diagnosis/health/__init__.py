"""Detects hardware, hosts and agents that are broken, lost or unreliable."""
