"""How much each resource bounds the work of a host and its GPUs, and how sure that is."""
