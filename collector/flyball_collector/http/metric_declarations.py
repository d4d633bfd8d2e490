"""The metrics that the fleet's layouts declare."""

from functools import lru_cache

import msgspec
from litestar import get

from flyball_collector.fleet.fleet import Fleet
from flyball_collector.http.collector_parts import PartsDependency
from flyball_collector.tick import KnownLayout
from flyball_proto.metric import Metric


class MetricAnswer(msgspec.Struct, frozen=True):
    """One declared metric; in Prometheus its name has the prefix `flyball_`."""

    name: str
    kind: str
    unit: str
    help: str
    labels: list[str]
    states: list[str]


@lru_cache(maxsize=8192)
def metrics_of(layout: KnownLayout) -> frozenset[Metric]:
    """Return the metrics of a layout. Cached."""
    return frozenset(column.metric for column in layout.layout.columns)


def declared_metrics(fleet: Fleet) -> dict[str, Metric]:
    """Return every metric of the fleet by name. Of two declarations with one name, either may be returned."""
    layouts = {id(host.layout): host.layout for host in fleet.hosts() if host.layout is not None}
    found = frozenset[Metric]().union(*map(metrics_of, layouts.values()))
    return {metric.name: metric for metric in sorted(found, key=lambda metric: metric.name)}


@get("/metrics", summary="Declared metrics")
async def list_metrics(parts: PartsDependency) -> list[MetricAnswer]:
    """List every metric that a host of the fleet reports, with its unit and meaning."""
    return [
        MetricAnswer(m.name, m.kind.name.lower(), m.unit, m.help, list(m.labels), list(m.states))
        for m in declared_metrics(parts.fleet).values()
    ]
