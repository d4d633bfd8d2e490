"""Errors in the user's input, with messages for the user."""

import difflib
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

MOST_NAMES = 12  # names that a message lists at most
SHORTEST_PART = 3  # letters; a shorter part occurs in too many names


class InputError(Exception):
    """The user's input is wrong. The message states what is wrong, where, and what to do."""


class UnknownName(InputError):
    """A name that does not exist."""

    def __init__(
        self, what: str, name: str, known: Iterable[str], *, instead: str = "", others: Iterable[str] = ()
    ) -> None:
        """Suggest one of the `known` names, else of their `others` spellings, else what to do `instead`."""
        names = list(known)
        self.name = name
        self.nearest = nearest(name, names)
        hint = suggestion(name, names, others) or instead
        super().__init__(f"there is no {what} named {name!r}" + (f"; {hint}" if hint else ""))


def read_fault(path: Path | str, error: OSError) -> str:
    """Return why a file cannot be read, and what to do."""
    match error:
        case FileNotFoundError() | NotADirectoryError():
            return f"there is no file {path}"
        case IsADirectoryError():
            return f"{path} is a folder; name a file"
        case PermissionError():
            return f"cannot read {path}: no read permission. Run as root or change its mode"
    return f"cannot read {path}: {error.strerror or error}"


def write_fault(path: Path | str, error: OSError) -> str:
    """Return why a file cannot be written, and what to do."""
    match error:
        case FileNotFoundError() | NotADirectoryError():
            return f"cannot write {path}: there is no folder {Path(path).parent}; create it, or name another"
        case IsADirectoryError():
            return f"{path} is a folder; name a file"
        case PermissionError():
            return f"cannot write {path}: no write permission. Run as root, or change the mode of its folder"
    return f"cannot write {path}: {error.strerror or error}"


def suggestion(name: str, known: Sequence[str], others: Iterable[str] = ()) -> str:
    """Return a question that suggests names: those with a word that begins like this one, else the nearest, else those
    that contain it; empty if there is none."""
    part = name.strip().casefold()
    holding = [each for each in known if part in each.casefold()] if len(part) >= SHORTEST_PART else []
    begun = [each for each in holding if re.search(rf"(?<![a-z]){re.escape(part)}", each.casefold())]
    near = None if begun else nearest(name, (*known, *others))
    found = [near] if near else begun or holding
    if len(found) > 1:
        return f"did you mean one of {', '.join(found[:MOST_NAMES])}{' …' if len(found) > MOST_NAMES else ''}?"
    return f"did you mean {found[0]!r}?" if found else ""


def nearest(name: str, known: Iterable[str], least: float = 0.6) -> str | None:
    """Return the known name that is nearest in spelling, if at least this share of their letters is equal."""
    names = {each.casefold(): each for each in known}
    found = difflib.get_close_matches(name.casefold(), names, n=1, cutoff=least)
    return names[found[0]] if found else None
