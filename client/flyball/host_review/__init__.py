"""A review of a host: its score, its power and heat, warnings, and what to change."""
