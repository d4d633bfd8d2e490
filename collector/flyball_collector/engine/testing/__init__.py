"""Play invented hosts and runs through the engine, for tests and simulations."""
