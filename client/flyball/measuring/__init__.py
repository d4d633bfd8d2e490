"""Facts about a training that are measured while it runs, for `flyball audit --evidence`."""
