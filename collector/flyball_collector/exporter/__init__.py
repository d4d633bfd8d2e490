"""The exporter: the fleet as Prometheus reads it."""
