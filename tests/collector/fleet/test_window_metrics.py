from pathlib import Path

from flyball_collector.exporter import host_metrics
from flyball_collector.exporter.catalogue import sample_name
from flyball_collector.exporter.diagnosis import metrics as diagnosis
from flyball_collector.fleet.window_metrics import WINDOW_METRICS

PAGE = (Path(__file__).parents[3] / "docs" / "metrics.md").read_text()
METRICS, OURS = PAGE.split("## Hosts, as the collector sees them")


def test_every_window_metric_is_one_that_agents_read() -> None:
    """Each metric of the list exists, once: docs/metrics.md is generated from the declarations."""
    assert [name for name in WINDOW_METRICS if f"| `flyball_{name}` |" not in METRICS] == []
    assert len(set(WINDOW_METRICS)) == len(WINDOW_METRICS)


def test_no_agent_declares_a_name_of_the_exporter() -> None:
    """The exporter's own names are reserved: an agent's metric of such a name would be left out."""
    names = [f"| `{sample_name(metric)}` |" for metric in (*host_metrics.METRICS, *diagnosis.METRICS)]
    assert [name for name in names if name in METRICS] == []
    assert [name for name in names if name not in OURS] == []
