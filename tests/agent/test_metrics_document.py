"""Tests of the document of metrics."""

from flyball_agent.accelerators.catalogue import build_accelerator_probes
from flyball_agent.metrics_document import build, resolution, row
from flyball_agent.probes.catalogue import build_host_probes
from flyball_agent.self_metrics import SelfMetrics, SelfProbe
from flyball_agent.settings import AgentSettings
from flyball_proto.metric import gauge, state


def test_every_metric_of_every_probe_has_one_row() -> None:
    """Each metric, including those of accelerators and the agent itself, has exactly one row."""
    settings, page = AgentSettings(), build()
    probes = [*build_host_probes(settings), *build_accelerator_probes(settings), SelfProbe(SelfMetrics())]
    for metric in {metric.name for probe in probes for metric in probe.metrics}:
        assert page.count(f"| `flyball_{metric}` |") == 1, metric


def test_a_row_has_all_columns() -> None:
    """A row has exported name, kind, unit, resolution, labels and meaning, with the names of states."""
    assert row(gauge("a_ratio", "ratio", "A|b.", ("x", "y"), 10_000)) == (
        "| `flyball_a_ratio` | gauge | ratio | 0.0001 | `x`, `y` | A\\|b. |"
    )
    carrier = state("carrier", "The link.", ("down", "up"))
    assert row(carrier, "amd") == "| `flyball_carrier` | state | state |  |  | amd | The link. (down, up) |"
    assert resolution(carrier) == ""
