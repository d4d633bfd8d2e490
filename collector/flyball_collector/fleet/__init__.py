"""The fleet: the newest readings of all hosts, as columns."""
