"""Hugging Face configurations: one file per family, one line in the list."""
