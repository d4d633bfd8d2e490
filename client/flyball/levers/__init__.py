"""Standard changes of parts that belong to torch: how data is loaded, and whether activations are kept."""
