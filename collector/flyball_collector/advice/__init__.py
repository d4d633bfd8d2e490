"""Advice: what to change, why, and what it should bring."""
