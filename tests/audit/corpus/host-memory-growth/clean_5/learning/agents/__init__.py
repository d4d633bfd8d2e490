"""Those that learn."""
