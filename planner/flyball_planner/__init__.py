"""What can be known before a run: memory, time, cost, and faults in the script."""
