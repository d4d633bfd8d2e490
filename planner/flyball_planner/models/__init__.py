"""Models: the parameters, operations and activations of each, independent of hardware. One file per family."""
