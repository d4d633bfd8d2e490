"""The daemon on each host: reads what the kernel and the accelerators tell, keeps it until it is safe, sends it."""
