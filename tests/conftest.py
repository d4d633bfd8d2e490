"""What holds for every test."""

from hypothesis import settings

# The same examples each time, and no time limit on one: a busy machine is no fault of the code.
settings.register_profile("flyball", deadline=None, derandomize=True)
settings.load_profile("flyball")
