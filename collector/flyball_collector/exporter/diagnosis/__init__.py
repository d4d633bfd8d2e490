"""The diagnosis's results for Prometheus."""
