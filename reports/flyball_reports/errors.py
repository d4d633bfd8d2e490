"""What can go wrong with a plan, told to the person who asked for it."""

import difflib
from collections.abc import Iterable, Sequence

MOST_TOLD = 12  # names in a message; more would hide it
SHORTEST_PART = 3  # letters of a name's part: fewer are in names of all kinds


class InputError(Exception):
    """Something about the question is wrong; the message says what, where, and what to do."""


class UnknownName(InputError):
    """A name that nothing here has."""

    def __init__(self, what: str, name: str, known: Iterable[str], *, instead: str = "") -> None:
        names = list(known)
        self.name = name
        self.nearest = nearest(name, names)
        hint = meant(name, names) or instead
        super().__init__(f"there is no {what} named {name!r}" + (f"; {hint}" if hint else ""))


def meant(name: str, known: Sequence[str]) -> str:
    """A question for the name that was probably meant: those that hold it, else the nearest; nothing where none is."""
    part = name.strip().casefold()
    holding = [each for each in known if part in each.casefold()] if len(part) >= SHORTEST_PART else []
    if len(holding) > 1:
        return f"did you mean one of {', '.join(holding[:MOST_TOLD])}{' …' if len(holding) > MOST_TOLD else ''}?"
    near = holding[0] if holding else nearest(name, known)
    return f"did you mean {near!r}?" if near else ""


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that was probably meant."""
    names = {each.casefold(): each for each in known}
    found = difflib.get_close_matches(name.casefold(), names, n=1, cutoff=0.6)
    return names[found[0]] if found else None
