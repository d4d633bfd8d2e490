"""The collector's face to people and Prometheus: JSON, metrics, service discovery, health and the page."""
