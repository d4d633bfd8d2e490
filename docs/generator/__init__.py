"""Generate the documents that come from the code."""
