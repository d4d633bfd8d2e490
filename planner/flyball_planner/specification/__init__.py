"""Specifications in YAML, JSON and TOML: what to plan, with all mistakes reported by line."""
