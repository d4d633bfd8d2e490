"""What a probe is: it reads one kind of resource and declares its metrics beside the code that reads them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from flyball_proto.layout import Column
from flyball_proto.metric import Metric
from flyball_proto.unavailable_reading import Reason, UnavailableReading

Value = float | int | None


@dataclass(frozen=True, slots=True)
class Sample:
    """What one reading of a probe gave.

    `columns` must be the *same object* while the set of resources is unchanged: the sampler compares it by identity
    and builds a new layout only when it differs. A value of `None` is unknown; say why in `unavailable`.
    """

    columns: tuple[Column, ...]
    values: Sequence[Value]
    unavailable: tuple[UnavailableReading, ...] = ()


class Probe(Protocol):
    """Reads one kind of resource.

    `read` runs each `every_seconds` (0: each tick); between, its last sample is repeated. A probe that can block is
    `blocking`: it runs in a thread of its own under a time limit. What it raises never reaches its neighbours.
    """

    @property
    def name(self) -> str: ...
    @property
    def metrics(self) -> Sequence[Metric]: ...
    @property
    def every_seconds(self) -> float: ...
    @property
    def blocking(self) -> bool: ...

    def read(self) -> Sample: ...


class Unavailable(Exception):
    """A probe cannot read at all, for a reason that is not a fault of its code."""

    reason = Reason.FAILED

    def __init__(self, detail: str, remedy: str = "") -> None:
        super().__init__(detail)
        self.detail = detail
        self.remedy = remedy


class Absent(Unavailable):
    """There is no such hardware or kernel feature here."""

    reason = Reason.ABSENT


class Denied(Unavailable):
    """The agent lacks a permission."""

    reason = Reason.DENIED


class Unsupported(Unavailable):
    """The hardware is here but cannot tell."""

    reason = Reason.UNSUPPORTED
