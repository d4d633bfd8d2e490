"""The collector's HTTP interface for people and Prometheus: JSON, metrics, service discovery, health and the page."""
