"""What can be wrong with a block."""


class BlockError(Exception):
    """Rows that make no block, or bytes that are none; the message says what is wrong and where."""
