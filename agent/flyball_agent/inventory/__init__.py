"""The inventory of the host: hardware and software, read at start and every few minutes."""
