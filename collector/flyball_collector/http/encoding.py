"""Large answers are compressed by their handlers, off the event loop."""

OWN_ENCODING = "own_encoding"
"""A handler with this in its `opt` chooses the encoding itself, so the application does not compress again."""
