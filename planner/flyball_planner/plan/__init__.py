"""A plan: everything that can be told of a training before it runs, and how it is made from a specification."""
