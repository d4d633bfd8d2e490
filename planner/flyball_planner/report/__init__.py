"""A plan for readers: Markdown, JSON with a schema, and a page that works without a network."""
