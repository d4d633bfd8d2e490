"""What was judged: files of public repositories and packages as facts, none of their text."""

import re
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path, PurePosixPath
from typing import Self

import msgspec

LISTS = Path(__file__).parent
_PLACE = re.compile(r"(?P<path>.+?)(?::cell (?P<cell>\d+))?:(?P<line>\d+)")


class BadList(ValueError):
    """A list says something that it may not say."""


class Part(StrEnum):
    """What a case may be used for; drawn before the audit had seen any of them."""

    TUNING = "tuning"  # its misses and wrong warnings were mended
    KEPT = "kept"  # looked at once, when the mends were done


@dataclass(frozen=True, order=True)
class Place:
    """A line of a file; in a notebook, of one of its code cells."""

    path: str
    cell: int | None
    line: int

    @classmethod
    def of(cls, text: str) -> Self:
        """Read what `PATH:LINE` or `PATH:cell N:LINE` means."""
        if not (found := _PLACE.fullmatch(text)):
            message = f"{text!r} is no place: write PATH:LINE, or PATH:cell N:LINE in a notebook"
            raise BadList(message)
        return cls(found["path"], int(found["cell"]) if found["cell"] else None, int(found["line"]))

    def near(self, other: Self, lines: int) -> bool:
        """Whether both mean the same, give or take a few lines."""
        return (self.path, self.cell) == (other.path, other.cell) and abs(self.line - other.line) <= lines


class Fault(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a reviewer would have changed; it was written down before the audit was run."""

    rule: str
    at: tuple[str, ...]
    """Its line; several, where cause and effect stand apart: any of them will do."""
    confirmed: str = ""
    """The thread that tells of the fault, if it is not our reading alone."""
    fixed: str = ""
    """The revision in which its authors had mended it."""
    fixed_at: str = ""
    """Where the mended line stands there."""

    @property
    def places(self) -> tuple[Place, ...]:
        """All lines on which finding it counts."""
        return tuple(map(Place.of, self.at))


class Verdict(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Whether a warning that is no labelled fault was right, judged after it was seen."""

    rule: str
    at: str
    right: bool
    reason: str


class Case(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Files that are audited together, as they were at one revision."""

    repository: str
    """Owner and name; `pypi/NAME` for a package."""
    revision: str
    """Commit; the version of a package."""
    part: Part
    files: tuple[str, ...]
    """A name that ends with `/` is a folder, of which all is read."""
    faults: tuple[Fault, ...] = ()
    verdicts: tuple[Verdict, ...] = ()

    def folder(self, revision: str = "") -> PurePosixPath:
        """Where its files lie below the folder of all."""
        return PurePosixPath(self.repository, revision or self.revision)


def read_list(path: Path) -> tuple[Case, ...]:
    """The cases of one list; a list that cannot be true is an error that names the place."""
    try:
        cases = msgspec.yaml.decode(path.read_bytes(), type=tuple[Case, ...])
    except msgspec.DecodeError as error:
        message = f"{path.name}: {error}"
        raise BadList(message) from error
    for case in cases:
        _check(path.name, case)
    return cases


def _check(name: str, case: Case) -> None:
    for place in (Place.of(each) for each in _places(case)):
        if not _holds(case, place.path):
            message = f"{name}: {case.repository}: {place.path} is not among the case's files"
            raise BadList(message)
    for fault in case.faults:
        if bool(fault.fixed) != bool(fault.fixed_at):
            message = f"{name}: {case.repository}: {fault.rule} needs both `fixed` and `fixed_at`, or none"
            raise BadList(message)


def _holds(case: Case, path: str) -> bool:
    return path in case.files or any(name.endswith("/") and path.startswith(name) for name in case.files)


def _places(case: Case) -> list[str]:
    faults = [place for fault in case.faults for place in (*fault.at, *filter(None, [fault.fixed_at]))]
    return faults + [verdict.at for verdict in case.verdicts]
