"""Columns of several groups of metrics, and the unavailable readings that explain each value that is missing."""

from collections.abc import Mapping, Sequence

from flyball_agent.probes.probe import Value
from flyball_proto.layout import Column
from flyball_proto.metric import Metric
from flyball_proto.unavailable_reading import Reason, UnavailableReading

Resources = Sequence[tuple[str, ...]]
ONE: Resources = ((),)
"""The resources of metrics without labels."""


class GroupedColumns:
    """Columns group by group, in each group resource by resource; the same object while no group changes."""

    __slots__ = ("_columns", "_groups", "_resources")

    def __init__(self, *groups: Sequence[Metric]) -> None:
        self._groups = groups
        self._columns: tuple[Column, ...] = ()
        self._resources: tuple[Resources, ...] | None = None

    def columns(self, *resources: Resources) -> tuple[Column, ...]:
        """Columns for one set of resources a group. Hand in the same sequences while nothing changed: it is faster."""
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
    """Explains missing values: one unavailable reading a metric that is missing everywhere, else one a resource."""

    __slots__ = ("_columns", "_detail", "_details", "_missing", "_probe", "_reason", "_remedy", "_unavailable")

    def __init__(
        self,
        probe: str,
        detail: str,
        reason: Reason = Reason.ABSENT,
        remedy: str = "",
        details: Mapping[str, str] | None = None,
    ) -> None:
        """`details` says it of single metrics, by their names."""
        self._probe = probe
        self._detail = detail
        self._details = details or {}
        self._reason = reason
        self._remedy = remedy
        self._columns: tuple[Column, ...] = ()
        self._missing: list[int] = []
        self._unavailable: tuple[UnavailableReading, ...] = ()

    def unavailable(self, columns: tuple[Column, ...], values: Sequence[Value]) -> tuple[UnavailableReading, ...]:
        """A unavailable reading for whatever is None in `values`; costs one scan while nothing is, or the same are."""
        if None not in values:
            return ()
        missing = [index for index, value in enumerate(values) if value is None]
        if columns is not self._columns or missing != self._missing:
            self._columns, self._missing = columns, missing
            self._unavailable = tuple(self._explain())
        return self._unavailable

    def _explain(self) -> list[UnavailableReading]:
        missing = {self._columns[index] for index in self._missing}
        spoken = {column.metric.name for column in self._columns if column not in missing}
        wanted = {
            (column.metric.name, resource_name(column) if column.metric.name in spoken else "") for column in missing
        }
        return [
            UnavailableReading(
                self._probe, metric, resource, self._reason, self._details.get(metric, self._detail), self._remedy
            )
            for metric, resource in sorted(wanted)
        ]


def resource_name(column: Column) -> str:
    """How unavailable readings name a column's resource: its label values, joined."""
    return "/".join(column.labels)
