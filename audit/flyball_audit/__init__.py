"""Find performance faults in training code by reading it. The code is never run or imported."""
