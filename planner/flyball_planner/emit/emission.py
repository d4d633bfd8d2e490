"""The result for one framework: files, how to start a training with them, and what they cannot express."""

from msgspec import Struct


class EmittedFile(Struct, frozen=True):
    """A configuration file."""

    name: str
    text: str


class Emission(Struct, frozen=True):
    """The files of one framework. What it cannot express is a note, never left out without a word."""

    framework: str
    files: tuple[EmittedFile, ...]
    command: str  # starts a training; empty if there is no file
    notes: tuple[str, ...]
