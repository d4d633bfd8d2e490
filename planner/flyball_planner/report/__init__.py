"""Reports on plans, calibrations and recommendations: Markdown, JSON with a schema, and a page without a network."""
