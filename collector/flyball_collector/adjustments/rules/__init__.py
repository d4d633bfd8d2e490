"""The rules of adjustments, one module for each group of levers."""
