"""The memory model: the peak on the fullest device, whether it fits, and which change would help most."""
