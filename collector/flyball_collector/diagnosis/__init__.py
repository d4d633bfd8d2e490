"""Find what limits each host and run and what will fail: pure functions of the fleet's recent readings."""
