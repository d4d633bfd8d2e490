"""All readings of a host as text, one a line, and the command that writes the expected texts again.

    .venv/bin/python -m tests.outside.hosts.readings

writes `NAME.expected` for each `NAME.host`. Read the difference line by line before you keep it.
"""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from flyball_agent.probes.catalogue import linux_probes
from flyball_agent.probes.probe import Probe, Unavailable, Value
from flyball_agent.settings import AgentSettings
from flyball_proto.layout import Column
from tests.outside.hosts.archive import Entry, entries, write

FOLDER = Path(__file__).parent
NOBODY_UID = 65534
OF_THIS_MACHINE = {"shared_memory", "filesystem", "latency", "clock_sync", "nvme_health"}
"""Probes that ask the kernel directly, and not for files below a root."""
PAGES = {"swap_in_bytes_total", "swap_out_bytes_total", "tcp_memory_bytes", "udp_memory_bytes"}
"""Metrics that the kernel counts in pages of the machine on which the test runs."""


def hosts() -> list[str]:
    """Return the names of all hosts."""
    return sorted(path.stem for path in FOLDER.glob("*.host"))


def description(name: str) -> list[Entry]:
    """Return the files of a host."""
    return entries((FOLDER / f"{name}.host").read_text(encoding="utf-8"))


def host_probes(root: Path) -> list[Probe]:
    """Return the probes that read files below a root."""
    settings = AgentSettings(proc_root=str(root / "proc"), sys_root=str(root / "sys"))
    return [probe for probe in linux_probes(settings) if probe.name not in OF_THIS_MACHINE]


@contextmanager
def host(files: list[Entry]) -> Iterator[Path]:
    """Write a host and yield its root, as a user without all permissions."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        root.chmod(0o755)
        write(root, files)
        root_user = os.geteuid() == 0
        if root_user:
            os.seteuid(NOBODY_UID)
        try:
            yield root
        finally:
            if root_user:
                os.seteuid(0)


def render(name: str) -> str:
    """Return the readings of a host, those of the second reading, probe by probe."""
    files = description(name)
    with host(files) as root:
        probes = host_probes(root)
        for probe in probes:
            _lines(probe, root)
        with _as_owner():
            write(root, files, later=True)
        return "\n".join("\n".join([f"# {probe.name}", *_lines(probe, root), ""]) for probe in probes)


@contextmanager
def _as_owner() -> Iterator[None]:
    user = os.geteuid()
    os.seteuid(os.getuid())
    try:
        yield
    finally:
        os.seteuid(user)


def _lines(probe: Probe, root: Path) -> list[str]:
    try:
        sample = probe.read()
    except Unavailable as error:
        remedy = f"; {error.remedy}" if error.remedy else ""
        return [f"{error.reason.word}: {error.detail}{remedy}".replace(str(root), "")]
    lines = [_line(column, value) for column, value in zip(sample.columns, sample.values, strict=True)]
    for missing in sample.unavailable:
        where = f"{missing.metric}{{{missing.resource}}}" if missing.resource else missing.metric
        remedy = f"; {missing.remedy}" if missing.remedy else ""
        lines.append(f"{where} is {missing.reason.word}: {missing.detail}{remedy}".replace(str(root), ""))
    return lines


def _line(column: Column, value: Value) -> str:
    metric = column.metric
    labels = ",".join(f"{name}={label}" for name, label in zip(metric.labels, column.labels, strict=True))
    name = f"{metric.name}{{{labels}}}" if labels else metric.name
    if value is None:
        return f"{name} unknown"
    if metric.states:
        return f"{name} {metric.states[int(value)]}"
    if metric.name in PAGES:
        value = value * 4096 // os.sysconf("SC_PAGE_SIZE")
    scaled = round(value * metric.scale)
    return f"{name} {scaled if metric.scale == 1 else scaled / metric.scale} {metric.unit}"


def main() -> None:
    """Write the expected text of each host."""
    for name in hosts():
        (FOLDER / f"{name}.expected").write_text(render(name), encoding="utf-8")


if __name__ == "__main__":
    main()
