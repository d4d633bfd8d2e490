"""What can be wrong with bytes that claim to be the wire's."""


class WireError(ValueError):
    """Bytes or values that break the contract; the message says which and how."""
