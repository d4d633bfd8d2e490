"""The generated list of all metrics, docs/metrics.md."""

from docs.generator.metrics import document
from flyball_collector.exporter import host_metrics
from flyball_collector.exporter.catalogue import sample_name
from flyball_collector.exporter.diagnosis.metrics import METRICS
from flyball_collector.own_metrics import OwnMetrics


def test_every_metric_has_one_row() -> None:
    """Those of the diagnosis, of hosts and of the collector itself; no two have the same name."""
    page = document()
    own = [family for family in OwnMetrics().registry.collect() if family.name.startswith("flyball_")]
    names = [
        *(sample_name(metric) for metric in (*METRICS, *host_metrics.METRICS)),
        *(family.name + ("_total" if family.type == "counter" else "") for family in own),
    ]
    for name in names:
        assert page.count(f"| `{name}` |") == 1, name
