"""The probe of hosts without procfs, on one that has it: psutil works here, too, and the kernel can be asked again."""

import errno
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from flyball_agent.command import main
from flyball_agent.probes.catalogue import build_host_probes, linux_probes
from flyball_agent.probes.portable import BUSY, PortableProbe, ask, is_watched, translated
from flyball_agent.probes.probe import Absent, Denied, Sample, Unavailable, Unsupported, Value
from flyball_agent.probes.testing import broken_laws, values_by_name
from flyball_agent.settings import AgentSettings
from flyball_proto.metric import Kind, Metric
from flyball_proto.unavailable_reading import Reason

SYS = Path("/sys")


def linux_values(names: set[str]) -> dict[tuple[str, ...], Value]:
    """What the probes of Linux say of these metrics."""
    values: dict[tuple[str, ...], Value] = {}
    for probe in linux_probes(AgentSettings()):
        if names & {metric.name for metric in probe.metrics}:
            try:
                values |= values_by_name(probe.read())
            except Unavailable:  # no disk, or no network, on this host
                continue
    return {key: value for key, value in values.items() if key[0] in names}


def read_twice() -> tuple[Sample, Sample]:
    probe = PortableProbe(SYS)
    first = probe.read()
    while psutil.cpu_times() == psutil.cpu_times():  # until a tick of CPU time has passed
        pass
    return first, probe.read()


def test_keeps_the_laws_of_samples() -> None:
    """Shares are shares, what is missing says why, and columns stay while nothing changes."""
    first, second = read_twice()
    for sample in (first, second):
        assert not list(broken_laws(sample))
        assert {unavailable_reading.probe for unavailable_reading in sample.unavailable} <= {"portable"}
    assert second.columns is first.columns


def test_busy_needs_a_reading_before() -> None:
    """The first reading says that it has nothing to compare with; the second knows the share."""
    first, second = read_twice()
    assert values_by_name(first)[BUSY.name,] is None
    assert [each.reason for each in first.unavailable if each.metric == BUSY.name] == [Reason.UNKNOWN]
    assert values_by_name(second)[BUSY.name,] is not None
    assert BUSY.name not in {each.metric for each in second.unavailable}


def test_declares_nothing_of_its_own() -> None:
    """Each metric is the very object that a probe of Linux declares: one name never means two things."""
    declared = {id(metric) for probe in linux_probes(AgentSettings()) for metric in probe.metrics}
    assert {id(metric) for metric in PortableProbe.metrics} <= declared


def test_agrees_with_the_probes_of_linux() -> None:
    """The same resources, and values that differ by no more than a moment and the kernel's bookkeeping."""
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
    """Counters lie between two readings, idle time falls by a tick at times; gauges may move in between."""
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
    """What psutil raises is said in the words of probes, and which question it was."""

    def call() -> None:
        raise raised

    with pytest.raises(Unavailable, match=r"psutil\.swap_memory") as caught:
        translated("swap_memory", call)
    assert type(caught.value) is expected


def test_a_question_that_psutil_does_not_know_here() -> None:
    """Some systems lack some functions altogether."""
    with pytest.raises(Unsupported, match="win_service_iter"):
        ask("win_service_iter")


def test_interfaces_of_other_systems() -> None:
    """Loopback, bridges and tunnels have other names there; adapters are watched."""
    assert [
        name for name in ("lo0", "bridge100", "utun3", "awdl0", "veth1", "en0", "ix1", "em0") if is_watched(name)
    ] == [
        "en0",
        "ix1",
        "em0",
    ]


def test_is_chosen_where_there_is_no_procfs(tmp_path: Path) -> None:
    """It stands in for the probes of Linux, beside those that work everywhere; with procfs it does not run."""
    settings = AgentSettings(proc_root=str(tmp_path))
    assert [probe.name for probe in build_host_probes(settings)] == ["portable", "filesystem", "latency"]
    assert "portable" not in {probe.name for probe in build_host_probes(AgentSettings())}
    for probe in build_host_probes(settings):
        assert not list(broken_laws(probe.read()))


def test_linux_does_not_pay_for_psutil() -> None:
    """An agent on Linux that has read everything has not imported it."""
    code = "import sys; from flyball_agent.command import main; main(['--once']); sys.exit('psutil' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    assert "memory_total_bytes" in done.stdout


def test_once_without_procfs(capsys: pytest.CaptureFixture[str]) -> None:
    """The command shows the host's memory and processor all the same."""
    assert main(["--once", "--set", "proc_root=/nonexistent"]) == 0
    shown = capsys.readouterr().out
    assert "portable" in shown
    assert "memory_total_bytes" in shown
    assert "/nonexistent" not in shown
