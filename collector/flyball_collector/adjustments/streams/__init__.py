"""The agents' streams for adjustments."""
