"""The collector: receives, stores and diagnoses the agents' records, and serves page, API and metrics."""
