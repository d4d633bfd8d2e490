"""The error of blocks."""


class BlockError(Exception):
    """Invalid rows or bytes of a block. The message names the fault and its place."""
