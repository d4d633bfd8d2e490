"""What is wrong with a recording."""


class ReplayError(Exception):
    """A file cannot be played; the message says where and what to do."""
