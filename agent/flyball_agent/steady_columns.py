"""Keeps the columns of a probe steady while its resources come and go, so that layouts change rarely.

A new layout is a definition that the collector stores, and a reason to read the inventory again. An interface that goes
up and down every few seconds must cause neither.
"""

from flyball_agent.probes.columns import resource_name
from flyball_agent.probes.probe import ProbeSample
from flyball_proto.layout import Column
from flyball_proto.unavailable_reading import Reason, UnavailableReading

NANOSECONDS = 1_000_000_000
HOLD_SECONDS = 60.0
"""Minimum time for which the columns of a resource that disappeared are kept, without values."""

FIRST_WAIT_SECONDS = 10.0
LONGEST_WAIT_SECONDS = 320.0
"""Limits of the time between two changes. It doubles with each change; after a calm period changes apply at once."""

GONE = "the resource has disappeared; its columns are kept for at least a minute"


class SteadyColumns:
    """Decides when the new columns of a probe replace the old ones, and fits samples to the columns in force.

    The first two changes apply at once, because a host that starts finds its devices one after the other.
    """

    __slots__ = ("_changed_ns", "_columns", "_missing", "_missing_ns", "_positions", "_probe", "_seen", "_wait_ns")

    def __init__(self, probe: str) -> None:
        self._probe = probe
        self._columns: tuple[Column, ...] = ()  # in force
        self._seen: tuple[Column, ...] = ()  # the probe's newest columns, if they differ
        self._positions: list[int | None] = []  # of the columns in force within those
        self._missing: tuple[UnavailableReading, ...] = ()
        self._missing_ns: int | None = None  # since when a resource is missing
        self._changed_ns = 0
        self._wait_ns = 0

    def fit(self, sample: ProbeSample, boot_ns: int) -> ProbeSample:
        """Return the sample with the columns in force, which may become those of the sample."""
        if sample.columns is self._columns:
            self._missing_ns = None
            return sample
        if sample.columns is not self._seen:
            self._compare(sample.columns)
        if None not in self._positions:
            self._missing_ns = None
        elif self._missing_ns is None:
            self._missing_ns = boot_ns
        if self._may_change(boot_ns):
            self._change(sample.columns, boot_ns)
            return sample
        if self._seen == self._columns:  # everything is back
            return ProbeSample(self._columns, sample.values, sample.unavailable)
        values = [None if at is None else sample.values[at] for at in self._positions]
        return ProbeSample(self._columns, values, sample.unavailable + self._missing)

    def _compare(self, columns: tuple[Column, ...]) -> None:
        places = {column: position for position, column in enumerate(columns)}
        self._seen = columns
        self._positions = [places.get(column) for column in self._columns]
        gone = {
            (column.metric.name, resource_name(column))
            for column, position in zip(self._columns, self._positions, strict=True)
            if position is None
        }
        self._missing = tuple(
            UnavailableReading(self._probe, metric, resource, Reason.ABSENT, GONE) for metric, resource in sorted(gone)
        )

    def _may_change(self, boot_ns: int) -> bool:
        if not self._columns:
            return True
        added = len(self._seen) > len(self._positions) - self._positions.count(None)
        held = self._missing_ns is not None and boot_ns - self._missing_ns >= HOLD_SECONDS * NANOSECONDS
        return (added or held) and boot_ns - self._changed_ns >= self._wait_ns

    def _change(self, columns: tuple[Column, ...], boot_ns: int) -> None:
        if boot_ns - self._changed_ns >= 2 * LONGEST_WAIT_SECONDS * NANOSECONDS:
            self._wait_ns = 0
        elif self._columns:
            self._wait_ns = min(
                int(LONGEST_WAIT_SECONDS * NANOSECONDS), max(2 * self._wait_ns, int(FIRST_WAIT_SECONDS * NANOSECONDS))
            )
        self._columns = self._seen = columns
        self._positions, self._missing, self._missing_ns = [*range(len(columns))], (), None
        self._changed_ns = boot_ns
