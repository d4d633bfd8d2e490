"""Runs: who trains on this host, by the word of the client, the scheduler, the container or the process itself."""
