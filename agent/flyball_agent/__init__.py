"""The daemon on each host: reads metrics of the kernel and the accelerators, spools them and sends them."""
