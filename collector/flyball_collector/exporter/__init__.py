"""The exporter: the fleet's metrics for Prometheus."""
