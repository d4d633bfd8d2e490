"""Hugging Face configurations: one file a family, one line in the list."""
