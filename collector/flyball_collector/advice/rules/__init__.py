"""The rules, a file for each group."""
