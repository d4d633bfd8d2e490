"""The collector's part of `docs/metrics.md`: metrics about hosts, the diagnosis, runs and the collector."""

from collections.abc import Iterable, Sequence

from prometheus_client import Metric as Family

from flyball_collector.exporter import host_metrics
from flyball_collector.exporter.catalogue import sample_name
from flyball_collector.exporter.diagnosis import metrics
from flyball_collector.own_metrics import OwnMetrics
from flyball_proto.metric import Metric

_ABOUT = """\
## Hosts, as the collector sees them
Metrics that the collector adds about agents, machines, processes and ranks, each with the label `instance`. An *info*
metric is always 1; its labels hold the information. [Prometheus](prometheus.md) describes these labels.
"""
_DIAGNOSIS = """\
## Diagnosis
Results of the [diagnosis](diagnosis.md).

- Each series about a host has the label `instance` and ends with the host. Labels that do not apply are left out.
- Conditions and risks have a series while they are active, at most 64 of a kind for each host. While a host is not
  reporting, only its conditions `host_lost` and `data_gap` have one. The forecast of a risk is kept for a minute after
  the risk was raised, even if it has ended ([Prometheus](prometheus.md#conditions-risks-and-their-evidence)).
- `flyball_score_confidence_ratio` has a series while the bottleneck is active.
- Lost GPU time is counted once, under the cause that was active on the GPU, its host or its run. Time for which nothing
  is known is not counted as lost.
"""
_RUNS = """\
## Runs
Metrics of a run over all its ranks, without the label `instance`, for up to 1,024 runs. They are part of `/metrics` and
`/metrics/collector`, but not of the pages of single hosts.
"""
_ADJUSTMENTS = """\
## Adjustments
Changes of running trainings ([Let Flyball act](how-to/let-flyball-act.md)), without the label `instance`. They are part
of `/metrics` and `/metrics/collector`. A collector whose settings allow no adjustments has none of them.
"""
_OWN = """\
## The collector itself
These are part of `/metrics` and `/metrics/collector`, together with `process_…` and `python_…`. The units are in the
names. A *stream* is the connection of an agent. A *block* is one minute of a host's records. A *definition* describes
records: their columns (the *layout*), readings that are unavailable, or which process holds which GPU (the *tenancy*).
"""


def document() -> str:
    """Return the sections in Markdown."""
    own = [family for family in OwnMetrics().registry.collect() if family.name.startswith("flyball_")]
    return "\n".join(
        [
            _ABOUT,
            *table(host_metrics.METRICS),
            "",
            _DIAGNOSIS,
            *table((*metrics.HOST_METRICS, *metrics.CONDITION_METRICS, *metrics.ADVICE_METRICS)),
            "",
            _RUNS,
            *table((*metrics.RUN_METRICS, metrics.PRICE)),
            "",
            _ADJUSTMENTS,
            *table(metrics.ADJUSTMENT_METRICS),
            "",
            _OWN,
            *own_table(own),
            "",
        ]
    )


def table(declared: Iterable[Metric]) -> Sequence[str]:
    """Return a table with one row for each metric."""
    return ["| metric | kind | unit | labels | meaning |", "|---|---|---|---|---|", *map(_row, declared)]


def own_table(families: Iterable[Family]) -> Sequence[str]:
    """Return the table of the collector's own metrics."""
    rows = [f"| `{_exposed(family)}` | {family.type} | {family.documentation} |" for family in families]
    return ["| metric | kind | meaning |", "|---|---|---|", *rows]


def _row(metric: Metric) -> str:
    labels = ", ".join(f"`{label}`" for label in metric.labels)
    cells = (f"`{sample_name(metric)}`", metric.kind.name.lower(), metric.unit, labels, metric.help)
    return f"| {' | '.join(cells)} |"


def _exposed(family: Family) -> str:
    return f"{family.name}_total" if family.type == "counter" else family.name
