"""The protocol of detectors: a detector reads one second of the fleet and returns claims."""

from collections.abc import Iterable, Sequence
from typing import Protocol

from flyball_collector.diagnosis.claims import Claims
from flyball_collector.diagnosis.kinds import EventKind
from flyball_collector.diagnosis.view import View


class Detector(Protocol):
    """Evaluate the detector's conditions for all hosts, GPUs, runs or ranks at once."""

    @property
    def name(self) -> str:
        """The name in logs and metrics."""

    @property
    def kinds(self) -> Sequence[EventKind]:
        """The kinds of condition that it can claim."""

    @property
    def needs(self) -> Sequence[str]:
        """The metrics (or `ANY_…`, see `SeenMetrics`) of which the detector needs at least one.

        It is not called before any of them was seen in the fleet. If this is empty, it is called from the start.
        """

    def observe(self, view: View) -> Iterable[Claims]:
        """Return the claims for this second. A kind without claims stays as it was. No clock, no I/O."""
