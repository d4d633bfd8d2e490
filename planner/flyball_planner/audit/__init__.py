"""Performance faults in training code, found by reading it: never run, never imported."""
