"""The stand-in GPU: a `libnvidia-ml.so.1`, compiled from C, that plays a scenario instead of calling a driver."""
