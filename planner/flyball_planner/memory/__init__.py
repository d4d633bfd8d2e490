"""How much memory a training takes, part by part, and whether it fits."""
