"""Answers that are large are compressed off the event loop, by whoever makes them."""

OWN_ENCODING = "own_encoding"
"""A handler with this in its `opt` chooses the encoding itself; the application would compress a second time."""
