"""Health: what is broken, lost, or not to be trusted."""
