"""The collector's part of `docs/metrics.md`: what the exporter adds of hosts, the diagnosis, and itself."""

from collections.abc import Iterable, Sequence

from prometheus_client import Metric as Family

from flyball_collector.exporter import about
from flyball_collector.exporter.catalogue import sample_name
from flyball_collector.exporter.diagnosis import metrics
from flyball_collector.own_metrics import OwnMetrics
from flyball_proto.metric import Metric

_ABOUT = """\
## Hosts, as the collector sees them
What the collector adds about agents, machines, processes and ranks, each with `instance`. See
[prometheus.md](prometheus.md) for the labels of those that say *info*.
"""
_DIAGNOSIS = """\
## Diagnosis
What the diagnosis found ([diagnosis.md](diagnosis.md) says how). Each series of a host has its `instance`, and leaves
with the host. A label that does not apply is left out. Conditions and risks are shown while they stand, at most 64 of a
kind and host; a host that has fallen silent keeps `host_lost` and `data_gap` alone. `score_confidence_ratio` is there
while the bottleneck is raised. Lost time counts once: to the cause that stood for the GPU, its host or its run; what is
unknown is not lost.
"""
_RUNS = """\
## Runs
Of a run over all its ranks: no `instance` of a host, at most 1,024 runs. They are on the fleet's page and on
`/metrics/collector`, not on those of single hosts.
"""
_OWN = """\
## The collector itself
On the fleet's page and on `/metrics/collector`, beside `process_…` and `python_…`.
"""


def document() -> str:
    """Sections in Markdown."""
    own = [family for family in OwnMetrics().registry.collect() if family.name.startswith("flyball_")]
    return "\n".join(
        [
            _ABOUT,
            *table(about.METRICS),
            "",
            _DIAGNOSIS,
            *table((*metrics.HOST_METRICS, *metrics.CONDITION_METRICS, *metrics.ADVICE_METRICS)),
            "",
            _RUNS,
            *table((*metrics.RUN_METRICS, metrics.PRICE)),
            "",
            _OWN,
            *own_table(own),
            "",
        ]
    )


def table(declared: Iterable[Metric]) -> Sequence[str]:
    """One row a metric."""
    return ["| metric | kind | unit | labels | meaning |", "|---|---|---|---|---|", *map(_row, declared)]


def own_table(families: Iterable[Family]) -> Sequence[str]:
    """The same of what the collector counts of itself."""
    rows = [f"| `{_exposed(family)}` | {family.type} | {family.documentation} |" for family in families]
    return ["| metric | kind | meaning |", "|---|---|---|", *rows]


def _row(metric: Metric) -> str:
    labels = ", ".join(f"`{label}`" for label in metric.labels)
    cells = (f"`{sample_name(metric)}`", metric.kind.name.lower(), metric.unit, labels, metric.help)
    return f"| {' | '.join(cells)} |"


def _exposed(family: Family) -> str:
    return f"{family.name}_total" if family.type == "counter" else family.name
