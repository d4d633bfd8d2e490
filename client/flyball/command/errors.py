"""Errors that end a command with one clear line."""


class CommandError(Exception):
    """A command that failed; the message names what is wrong, where, and what to do."""

    status = 1


class WrongArgument(CommandError):
    """An argument, option or input file that cannot be used."""

    status = 2


class NotFound(WrongArgument):
    """A name that the collector does not know."""
