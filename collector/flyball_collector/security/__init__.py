"""Who may speak to the collector, and as whom."""
