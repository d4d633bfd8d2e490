"""GPUs beside their peers: of one model, in the same run, host or fleet."""
