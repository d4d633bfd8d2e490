"""Faults of a specification: all of them at once, each with its line and what to write instead."""

from collections.abc import Iterable, Sequence

from msgspec import Struct

from flyball_reports.errors import MOST_TOLD, InputError, meant


class Problem(Struct, frozen=True):
    """One fault: where, which key, what is wrong with it."""

    line: int  # from 1; 0: of the whole file
    key: str  # with its sections, as in hardware.devices
    message: str

    def told(self, file: str) -> str:
        """As compilers say it, so that editors find the place."""
        place = f"{file}:{self.line}" if self.line else file
        return f"{place}: {self.key}: {self.message}" if self.key else f"{place}: {self.message}"


class SpecificationError(InputError):
    """A specification that cannot be planned."""

    def __init__(self, problems: Sequence[Problem], file: str = "specification") -> None:
        self.problems = tuple(sorted(problems, key=lambda each: each.line))
        self.file = file
        super().__init__("\n".join(each.told(file) for each in self.problems))


def unknown(what: str, name: str, known: Iterable[str]) -> str:
    """That nothing has this name, with the one probably meant, or all if they are few."""
    names = list(known)
    question = meant(name, names)
    if question:
        return f"unknown {what} {name!r}; {question}"
    listed = ", ".join(sorted(names)[:MOST_TOLD]) + (" …" if len(names) > MOST_TOLD else "")
    return f"unknown {what} {name!r}; known: {listed}" if names else f"unknown {what} {name!r}"
