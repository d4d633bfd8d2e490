"""Jobs: what the collector does by the clock rather than for a message."""
