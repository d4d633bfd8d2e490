"""The spool: keeps every record on disk until the collector has it safe, and says what it could not keep."""
