"""Host probes: one module each, listed explicitly in `catalogue`."""
