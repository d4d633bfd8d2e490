"""Storage of a hierarchical learner, level by level."""
