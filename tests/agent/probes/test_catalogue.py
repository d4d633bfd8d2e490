"""The list of host probes."""

import contextlib
from pathlib import Path

import msgspec
import pytest

from flyball_agent.probes.catalogue import build_host_probes
from flyball_agent.probes.probe import Probe, Unavailable
from flyball_agent.probes.round_trip import BadTarget
from flyball_agent.probes.testing import broken_laws
from flyball_agent.settings import AgentSettings, ProbeSettings

PROBES = build_host_probes(AgentSettings())


@pytest.mark.parametrize("probe", PROBES, ids=lambda probe: probe.name)
def test_reads_this_very_host(probe: Probe) -> None:
    """Each probe gives a lawful sample of declared metrics here, twice, or says why it cannot."""
    try:
        first, second = probe.read(), probe.read()
    except Unavailable:
        return
    for sample in (first, second):
        assert not list(broken_laws(sample))
        assert {column.metric for column in sample.columns} <= set(probe.metrics)
        assert {silence.probe for silence in sample.silences} <= {probe.name}
    assert second.columns is first.columns


@pytest.mark.parametrize(
    "probe", build_host_probes(AgentSettings(proc_root="/nowhere", sys_root="/nowhere")), ids=lambda p: p.name
)
def test_a_host_without_procfs_is_not_fatal(probe: Probe) -> None:
    """Where nothing can be read, each probe says so; none breaks."""
    with contextlib.suppress(Unavailable):
        assert not list(broken_laws(probe.read()))


def test_names_are_unique() -> None:
    """Two probes with one name, or one metric from two probes, could not be told apart."""
    names = [probe.name for probe in PROBES]
    metrics = [metric.name for probe in PROBES for metric in probe.metrics]
    assert len(names) == len(set(names))
    assert len(metrics) == len(set(metrics))


def test_counters_are_named_so() -> None:
    """`_total` is what counters end in, and nothing else does but totals in bytes."""
    for probe in PROBES:
        for metric in probe.metrics:
            assert metric.name.endswith("_total") == (metric.kind == 1), metric.name
            assert metric.help.endswith("."), metric.name


def test_disabled_probes_are_left_out() -> None:
    """What the settings disable is not built."""
    settings = AgentSettings(probes=ProbeSettings(disabled=("disk", "latency")))
    assert {probe.name for probe in PROBES} - {probe.name for probe in build_host_probes(settings)} == {
        "disk",
        "latency",
    }


def test_a_bad_latency_target_is_refused_at_start() -> None:
    """The operator hears of it at once."""
    settings = msgspec.structs.replace(AgentSettings(), probes=ProbeSettings(latency_targets=("nonsense",)))
    with pytest.raises(BadTarget, match="nonsense"):
        build_host_probes(settings)


def test_roots_are_obeyed(tmp_path: Path) -> None:
    """With other roots nothing of this host is read but what has no root."""
    probes = build_host_probes(AgentSettings(proc_root=str(tmp_path), sys_root=str(tmp_path)))
    speaking = set()
    for probe in probes:
        try:
            probe.read()
            speaking.add(probe.name)
        except Unavailable:
            continue
    assert speaking <= {"shared_memory", "latency"}
