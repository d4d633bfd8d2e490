"""Periodic jobs of the collector."""
