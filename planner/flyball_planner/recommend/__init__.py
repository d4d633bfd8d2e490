"""Hardware recommendations for a data set and a desired time: the needs, the options, and their cost."""
