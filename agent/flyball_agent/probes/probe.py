"""The interface of probes. A probe reads one kind of resource and declares the metrics that it reads."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from flyball_proto.layout import Column
from flyball_proto.metric import Metric
from flyball_proto.unavailable_reading import Reason, UnavailableReading

Value = float | int | None


@dataclass(frozen=True, slots=True)
class ProbeSample:
    """The values that a probe read at one tick.

    `columns` must be the *same object* while the set of resources is unchanged: the sampler compares it by identity
    and builds a new layout only when it differs. A value of `None` is unknown and needs an entry in `unavailable`.
    """

    columns: tuple[Column, ...]
    values: Sequence[Value]
    unavailable: tuple[UnavailableReading, ...] = ()


class Probe(Protocol):
    """Reads one kind of resource.

    `read` is called every `every_seconds` (0: at each tick); until the next call its last sample is repeated. A probe
    that can block sets `blocking`: it runs in its own thread, with a time limit. An exception of one probe does not
    affect the others.
    """

    @property
    def name(self) -> str: ...
    @property
    def metrics(self) -> Sequence[Metric]: ...
    @property
    def every_seconds(self) -> float: ...
    @property
    def blocking(self) -> bool: ...

    def read(self) -> ProbeSample: ...


class Unavailable(Exception):
    """A probe cannot read its resource, for a reason outside its code."""

    reason = Reason.FAILED

    def __init__(self, detail: str, remedy: str = "") -> None:
        super().__init__(detail)
        self.detail = detail
        self.remedy = remedy


class Absent(Unavailable):
    """The host does not have the hardware or the kernel feature."""

    reason = Reason.ABSENT


class Denied(Unavailable):
    """The agent lacks a permission."""

    reason = Reason.DENIED


class Unsupported(Unavailable):
    """The hardware is present but does not provide the value."""

    reason = Reason.UNSUPPORTED
