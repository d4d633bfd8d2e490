"""Grafana's dashboards, made by code: `python -m grafana.generator` writes them as JSON."""
