"""Which metrics the fleet's layouts declare."""

from functools import lru_cache

import msgspec
from litestar import get

from flyball_collector.fleet.fleet import Fleet
from flyball_collector.http.parts import Here
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
    """The metrics of a layout, found once."""
    return frozenset(column.metric for column in layout.layout.columns)


def declared(fleet: Fleet) -> dict[str, Metric]:
    """Every metric of the fleet by name; of two declarations of one name, either."""
    different = {id(host.layout): host.layout for host in fleet.hosts() if host.layout is not None}
    found = frozenset[Metric]().union(*map(metrics_of, different.values()))
    return {metric.name: metric for metric in sorted(found, key=lambda metric: metric.name)}


@get("/metrics", summary="Declared metrics")
async def list_metrics(parts: Here) -> list[MetricAnswer]:
    """Every metric that a host of the fleet reports, with its unit and meaning."""
    return [
        MetricAnswer(m.name, m.kind.name.lower(), m.unit, m.help, list(m.labels), list(m.states))
        for m in declared(parts.fleet).values()
    ]
