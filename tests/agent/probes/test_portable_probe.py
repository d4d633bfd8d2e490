"""Tests of the portable probe. They run on Linux, where psutil works too and procfs provides the expected values."""

import errno
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from flyball_agent.command import main
from flyball_agent.probes.catalogue import build_host_probes, linux_probes
from flyball_agent.probes.portable_probe import BUSY, PortableProbe, call_psutil, is_watched, translate_errors
from flyball_agent.probes.probe import Absent, Denied, ProbeSample, Unavailable, Unsupported, Value
from flyball_agent.probes.testing import broken_rules, values_by_name
from flyball_agent.settings import AgentSettings
from flyball_proto.metric import Kind, Metric
from flyball_proto.unavailable_reading import Reason

SYS = Path("/sys")


def linux_values(names: set[str]) -> dict[tuple[str, ...], Value]:
    """Return the values of these metrics from the Linux probes."""
    values: dict[tuple[str, ...], Value] = {}
    for probe in linux_probes(AgentSettings()):
        if names & {metric.name for metric in probe.metrics}:
            try:
                values |= values_by_name(probe.read())
            except Unavailable:  # no disk, or no network, on this host
                continue
    return {key: value for key, value in values.items() if key[0] in names}


def read_twice() -> tuple[ProbeSample, ProbeSample]:
    probe = PortableProbe(SYS)
    first = probe.read()
    while psutil.cpu_times() == psutil.cpu_times():  # until a tick of CPU time has passed
        pass
    return first, probe.read()


def test_samples_are_valid() -> None:
    """Ratios are between 0 and 1, missing values have a reason, and the columns stay while nothing changes."""
    first, second = read_twice()
    for sample in (first, second):
        assert not list(broken_rules(sample))
        assert {unavailable_reading.probe for unavailable_reading in sample.unavailable} <= {"portable"}
    assert second.columns is first.columns


def test_the_busy_ratio_needs_two_readings() -> None:
    """The ratio is unknown with a reason at the first reading and known at the second."""
    first, second = read_twice()
    assert values_by_name(first)[BUSY.name,] is None
    assert [each.reason for each in first.unavailable if each.metric == BUSY.name] == [Reason.UNKNOWN]
    assert values_by_name(second)[BUSY.name,] is not None
    assert BUSY.name not in {each.metric for each in second.unavailable}


def test_declares_only_metrics_of_the_linux_probes() -> None:
    """Each metric is the object that a Linux probe declares, so a name never has two meanings."""
    declared = {id(metric) for probe in linux_probes(AgentSettings()) for metric in probe.metrics}
    assert {id(metric) for metric in PortableProbe.metrics} <= declared


def test_agrees_with_the_linux_probes() -> None:
    """Resources are the same, and values differ by no more than time and accounting explain."""
    names = {metric.name for metric in PortableProbe.metrics}
    before = linux_values(names)
    sample = PortableProbe(SYS).read()
    after = linux_values(names)
    mine = values_by_name(sample)
    assert {column.metric.name: column.metric for column in sample.columns}.keys() <= names
    assert mine.keys() == before.keys()
    for column in sample.columns:
        key = (column.metric.name, *column.labels)
        low, value, high = before[key], mine[key], after[key]
        if low is not None and value is not None and high is not None:
            slack = allowance(column.metric, value)
            assert min(low, high) - slack <= value <= max(low, high) + slack, key


def allowance(metric: Metric, value: float) -> float:
    """Return the difference that is allowed: idle time may fall by a tick, and gauges may move between readings."""
    if metric.kind is Kind.COUNTER:
        return 0.1 if metric.unit == "seconds" else 0
    return 0.1 if metric.unit == "ratio" else 0.1 * value + 2**26 if metric.unit == "bytes" else 1


@pytest.mark.parametrize(
    ("raised", "expected"),
    [
        (psutil.AccessDenied(1), Denied),
        (PermissionError(errno.EACCES, "no"), Denied),
        (FileNotFoundError(errno.ENOENT, "none"), Absent),
        (NotImplementedError("not here"), Unsupported),
        (OSError(errno.ENOSYS, "not here"), Unsupported),
        (psutil.Error("odd"), Unavailable),
        (RuntimeError("odd"), Unavailable),
    ],
)
def test_errors_become_reasons(raised: Exception, expected: type[Unavailable]) -> None:
    """Exceptions of psutil become those of probes, with the name of the function."""

    def call() -> None:
        raise raised

    with pytest.raises(Unavailable, match=r"psutil\.swap_memory") as caught:
        translate_errors("swap_memory", call)
    assert type(caught.value) is expected


def test_a_missing_function_of_psutil_is_unsupported() -> None:
    """Some functions of psutil do not exist on all systems."""
    with pytest.raises(Unsupported, match="win_service_iter"):
        call_psutil("win_service_iter")


def test_interfaces_of_other_systems() -> None:
    """Loopback, bridges and tunnels of macOS and BSD are not watched, network adapters are."""
    assert [
        name for name in ("lo0", "bridge100", "utun3", "awdl0", "veth1", "en0", "ix1", "em0") if is_watched(name)
    ] == [
        "en0",
        "ix1",
        "em0",
    ]


def test_is_used_without_procfs(tmp_path: Path) -> None:
    """Without procfs it replaces the Linux probes; with procfs it does not run."""
    settings = AgentSettings(proc_root=str(tmp_path))
    assert [probe.name for probe in build_host_probes(settings)] == ["portable", "filesystem", "latency"]
    assert "portable" not in {probe.name for probe in build_host_probes(AgentSettings())}
    for probe in build_host_probes(settings):
        assert not list(broken_rules(probe.read()))


def test_linux_does_not_import_psutil() -> None:
    """On Linux the agent reads everything without importing psutil."""
    code = "import sys; from flyball_agent.command import main; main(['--once']); sys.exit('psutil' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    assert "memory_total_bytes" in done.stdout


def test_once_without_procfs(capsys: pytest.CaptureFixture[str]) -> None:
    """`--once` prints memory and CPU of the host without procfs too."""
    assert main(["--once", "--set", "proc_root=/nonexistent"]) == 0
    shown = capsys.readouterr().out
    assert "portable" in shown
    assert "memory_total_bytes" in shown
    assert "/nonexistent" not in shown
