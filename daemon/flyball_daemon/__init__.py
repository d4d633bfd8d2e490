"""Common parts of daemons: settings with their origins, logs, systemd notifications, dumps."""
