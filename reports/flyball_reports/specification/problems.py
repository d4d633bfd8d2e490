"""Problems of a specification, each with its line and a hint. All problems are reported at once."""

from collections.abc import Iterable, Sequence

from msgspec import Struct

from flyball_reports.errors import MOST_NAMES, InputError, suggestion
from flyball_reports.specification.source_value import shortened

MOST_PROBLEMS = 100
"""Maximum number of problems that are listed."""


class Problem(Struct, frozen=True):
    """One problem: its line, its key and a message."""

    line: int  # from 1; 0 means the whole file
    key: str  # with its section, as in hardware.devices
    message: str

    def located(self, file: str) -> str:
        """Return the message with file and line in the format of compilers, which editors understand."""
        place = f"{file}:{self.line}" if self.line else file
        return f"{place}: {self.key}: {self.message}" if self.key else f"{place}: {self.message}"


class SpecificationError(InputError):
    """A specification with problems."""

    def __init__(self, problems: Sequence[Problem], file: str = "specification") -> None:
        found = sorted(problems, key=lambda each: each.line)
        if len(found) > MOST_PROBLEMS:
            more = f"{len(found) - MOST_PROBLEMS:,} more problems; fix these first"
            found[MOST_PROBLEMS:] = [Problem(found[MOST_PROBLEMS].line, "", more)]
        self.problems = tuple(found)
        self.file = file
        super().__init__("\n".join(each.located(file) for each in self.problems))


def unknown(what: str, name: str, known: Iterable[str]) -> str:
    """Return a message about an unknown name, with a suggestion or the list of known names."""
    names = list(known)
    question = suggestion(name, names)
    shown = shortened(name)
    if question:
        return f"unknown {what} {shown!r}; {question}"
    listed = ", ".join(sorted(names)[:MOST_NAMES]) + (" …" if len(names) > MOST_NAMES else "")
    return f"unknown {what} {shown!r}; known: {listed}" if names else f"unknown {what} {shown!r}"
