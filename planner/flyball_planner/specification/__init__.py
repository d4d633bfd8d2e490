"""What is to be planned, as its user writes it: YAML whose every fault is told with its line."""
