from pathlib import Path

from flyball_collector.exporter import about
from flyball_collector.exporter.catalogue import sample_name
from flyball_collector.exporter.diagnosis import metrics as diagnosis
from flyball_collector.fleet.windowed import WINDOWED

PAGE = (Path(__file__).parents[3] / "docs" / "metrics.md").read_text()
METRICS, OURS = PAGE.split("## Hosts, as the collector sees them")


def test_every_windowed_metric_is_one_that_agents_read() -> None:
    """The list names metrics that exist, each once: the page that is generated from the declarations has them."""
    assert [name for name in WINDOWED if f"| `flyball_{name}` |" not in METRICS] == []
    assert len(set(WINDOWED)) == len(WINDOWED)


def test_no_agent_declares_what_the_exporter_makes() -> None:
    """The exporter's own names are free: an agent's metric of such a name would be left out."""
    names = [f"| `{sample_name(metric)}` |" for metric in (*about.METRICS, *diagnosis.METRICS)]
    assert [name for name in names if name in METRICS] == []
    assert [name for name in names if name not in OURS] == []
