"""Builds the columns of groups of metrics, and the unavailable readings that explain missing values."""

from collections.abc import Mapping, Sequence

from flyball_agent.probes.probe import Value
from flyball_proto.layout import Column
from flyball_proto.metric import Metric
from flyball_proto.unavailable_reading import Reason, UnavailableReading

Resources = Sequence[tuple[str, ...]]
ONE: Resources = ((),)
"""The resources of metrics without labels."""


class GroupedColumns:
    """Columns ordered by group and then by resource; the same object while the resources are unchanged."""

    __slots__ = ("_columns", "_groups", "_resources")

    def __init__(self, *groups: Sequence[Metric]) -> None:
        self._groups = groups
        self._columns: tuple[Column, ...] = ()
        self._resources: tuple[Resources, ...] | None = None

    def columns(self, *resources: Resources) -> tuple[Column, ...]:
        """Return the columns for one set of resources per group.

        Passing the same sequences while nothing changes makes the comparison fast.
        """
        if resources != self._resources:
            self._columns = tuple(
                Column(metric, labels)
                for metrics, found in zip(self._groups, resources, strict=True)
                for labels in found
                for metric in metrics
            )
            self._resources = resources
        return self._columns


class Gaps:
    """Explains missing values: one unavailable reading for a metric that has no value at all, else one per resource."""

    __slots__ = ("_columns", "_detail", "_details", "_missing", "_probe", "_reason", "_remedy", "_unavailable")

    def __init__(
        self,
        probe: str,
        detail: str,
        reason: Reason = Reason.ABSENT,
        remedy: str = "",
        details: Mapping[str, str] | None = None,
    ) -> None:
        """Set the reason of missing values; `details` overrides `detail` for single metrics, by name."""
        self._probe = probe
        self._detail = detail
        self._details = details or {}
        self._reason = reason
        self._remedy = remedy
        self._columns: tuple[Column, ...] = ()
        self._missing: list[int] = []
        self._unavailable: tuple[UnavailableReading, ...] = ()

    def unavailable(self, columns: tuple[Column, ...], values: Sequence[Value]) -> tuple[UnavailableReading, ...]:
        """Return unavailable readings for the values that are None; the result is cached while these are the same."""
        if None not in values:
            return ()
        missing = [index for index, value in enumerate(values) if value is None]
        if columns is not self._columns or missing != self._missing:
            self._columns, self._missing = columns, missing
            self._unavailable = tuple(self._explain())
        return self._unavailable

    def _explain(self) -> list[UnavailableReading]:
        missing = {self._columns[index] for index in self._missing}
        known = {column.metric.name for column in self._columns if column not in missing}
        readings = {
            (column.metric.name, resource_name(column) if column.metric.name in known else "") for column in missing
        }
        return [
            UnavailableReading(
                self._probe, metric, resource, self._reason, self._details.get(metric, self._detail), self._remedy
            )
            for metric, resource in sorted(readings)
        ]


def resource_name(column: Column) -> str:
    """Return the name of a column's resource in unavailable readings: its label values, joined by `/`."""
    return "/".join(column.labels)
