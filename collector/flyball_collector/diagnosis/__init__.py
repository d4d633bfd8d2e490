"""What bounds each host and run, what will break it, and how sure that is: pure functions of the fleet's window."""
