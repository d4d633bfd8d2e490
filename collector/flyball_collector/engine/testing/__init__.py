"""Play simulated hosts and runs through the diagnosis, for tests and simulations."""
