"""Memory: what a training takes on its fullest device, whether it fits, and what would help most."""
