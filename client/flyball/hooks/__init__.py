"""The parts that `flyball run -- CMD` adds to a Python process: a run that reports without a change of the script."""
