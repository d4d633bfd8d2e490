"""Complete sets of numbers for a training on given hardware: careful, balanced, or all that it can do."""
