"""What the audit says of one place in the code: what is slow there, why, what to change, and what that gives."""

from dataclasses import dataclass
from enum import StrEnum


class Severity(StrEnum):
    """How sure it is that a change pays, lowest first."""

    NOTE = "note"  # worth a look; measured facts may confirm it
    WARNING = "warning"  # slow in all likelihood
    ERROR = "error"  # slow or wrong for certain

    @property
    def rank(self) -> int:
        """Greater is worse."""
        return list(Severity).index(self)


class Time(StrEnum):
    """The kinds of time that a step is made of: what a change can take away."""

    HOST = "host"  # the device waits for the host: synchronisations, launches, Python
    INPUT = "input"  # waiting for data
    COMPUTE = "compute"  # kernels of the model
    OPTIMIZER = "optimizer"  # kernels of the optimizer's step and of gradient norms
    COMMUNICATION = "communication"  # collectives between devices
    EVALUATION = "evaluation"  # passes that do not train
    SERVICE = "service"  # waiting for another process: requests, databases
    MEMORY = "memory"  # no time by itself: what ends in an out-of-memory error or a smaller batch


@dataclass(frozen=True)
class Gain:
    """Which kind of time a change takes away, and how many times shorter that becomes."""

    time: Time
    up_to: float
    """Before to after, as the rule's source reports it: 2.0 halves it. Where only whole steps were measured, their
    ratio, which is less."""


@dataclass(frozen=True, order=True)
class Span:
    """A stretch of a file; lines and columns count from 1, the end column is the first one after it."""

    line: int
    column: int
    end_line: int
    end_column: int


class Action(StrEnum):
    """What a change does to the node that stands at its span."""

    REPLACE = "replace"  # the expression or statement becomes `text`
    REMOVE = "remove"  # the statement goes
    BEFORE = "before"  # `text`, a statement, is put before the statement
    AFTER = "after"  # `text`, a statement, is put after the statement
    SET_ARGUMENT = "set argument"  # the call's keyword `name` becomes `text`, added if absent
    DROP_ARGUMENT = "drop argument"  # the call's keyword `name` goes
    IMPORT = "import"  # the file imports `text` (a statement), if it does not yet


@dataclass(frozen=True)
class Change:
    """One change to one node of the syntax tree."""

    action: Action
    span: Span
    text: str = ""
    name: str = ""


@dataclass(frozen=True)
class Edit:
    """The changes that together mend one finding."""

    changes: tuple[Change, ...]
    safe: bool = False
    """Results stay the same, to the bit, and nothing but the fault changes."""


@dataclass(frozen=True)
class Finding:
    """One fault at one place."""

    rule: str
    path: str
    line: int
    column: int
    severity: Severity
    confidence: float
    """0 to 1: how probable it is that an expert would ask for the change."""
    message: str
    """What is there, in a line, with the names that the code uses."""
    because: str
    """Why it is slow here: what was seen in the code."""
    change: str
    """What to do."""
    expected: str
    """What that gives, and who says so."""
    end_line: int
    end_column: int
    gain: Gain | None = None
    edit: Edit | None = None
    begins: int | None = None
    """The line on which a chain of several lines begins; None where that is `line`."""
    cell: int | None = None
    """In a notebook: the code cell, counted from 1 over all cells; its lines and columns then count within the cell."""

    @property
    def order(self) -> tuple[str, int, int, int, str]:
        """How findings are sorted: by place, then by rule."""
        return (self.path, self.cell or 0, self.line, self.column, self.rule)

    @property
    def place(self) -> str:
        """Path, line and column, as editors and terminals understand them."""
        cell = f":cell {self.cell}" if self.cell is not None else ""
        return f"{self.path}{cell}:{self.line}:{self.column}"
