"""The stand-in GPU: a real `libnvidia-ml.so.1`, compiled here, that plays a scenario instead of asking a driver."""
