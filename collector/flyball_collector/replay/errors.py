"""The error of recordings."""


class ReplayError(Exception):
    """A recording cannot be replayed. The message names the place and a remedy."""
