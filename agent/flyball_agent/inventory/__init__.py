"""What the host is: read at start and now and then, from the same roots as the probes."""
