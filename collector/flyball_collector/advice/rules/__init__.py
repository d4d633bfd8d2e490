"""The rules of advice, one module for each group."""
