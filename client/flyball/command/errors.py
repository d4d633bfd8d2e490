"""What a command cannot do, in words for whoever typed it."""


class CommandError(Exception):
    """Ends the command with its message; says what was wrong, where, and what to do."""

    def __init__(self, message: str, status: int = 1) -> None:
        super().__init__(message)
        self.status = status


class NotThere(CommandError):
    """The collector knows nothing of this name."""
