"""Captures of ranks: orders to agents, and the results with the events they belong to."""
