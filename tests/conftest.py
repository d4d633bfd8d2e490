"""Settings of every test."""

from hypothesis import settings

# Use the same examples each time, without a time limit: a busy machine is not a fault of the code.
settings.register_profile("flyball", deadline=None, derandomize=True)
settings.load_profile("flyball")
