"""Plans: everything that is known about a training before it runs."""
