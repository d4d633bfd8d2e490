"""A package with a module that is called as one of Python is."""
