"""What can go wrong with a plan, told to the person who asked for it."""

import difflib
from collections.abc import Iterable


class PlanError(Exception):
    """Something about the question is wrong; the message says what, where, and what to do."""


class UnknownName(PlanError):
    """A name that nothing here has."""

    def __init__(self, what: str, name: str, known: Iterable[str], *, instead: str = "") -> None:
        self.name = name
        self.nearest = nearest(name, known)
        hint = f"; did you mean {self.nearest!r}?" if self.nearest else f"; {instead}" if instead else ""
        super().__init__(f"there is no {what} named {name!r}{hint}")


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that was probably meant."""
    names = {each.casefold(): each for each in known}
    found = difflib.get_close_matches(name.casefold(), names, n=1, cutoff=0.6)
    return names[found[0]] if found else None
