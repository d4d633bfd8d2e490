class Tree:
    """Another collection."""
