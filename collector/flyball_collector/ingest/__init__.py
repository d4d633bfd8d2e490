"""Ingest: receives the agents' streams; checks and deduplicates records, and passes them to the fleet and the store."""
