"""The search for the fastest layout that fits."""
