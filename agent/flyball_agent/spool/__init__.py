"""The spool: keeps every record on disk until the collector has stored it, and reports lost records."""
