"""Errors of messages that violate the protocol."""


class WireError(ValueError):
    """Bytes or values that violate the protocol."""
