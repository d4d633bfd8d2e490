"""What makes a process a well-behaved daemon: settings with provenance, logs, systemd, dumps."""
