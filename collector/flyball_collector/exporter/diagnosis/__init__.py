"""What the diagnosis found, as Prometheus reads it."""
