"""Ingest: agents' streams in; checked, deduplicated and gathered records out, to the fleet and the store."""
