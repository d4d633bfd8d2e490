"""Specifications in YAML: what to plan, with all mistakes reported by line."""
