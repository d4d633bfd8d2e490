"""The output of `--check`: which metrics are readable on this host, which are not, why, and what to do."""

import json
import os
import socket
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from flyball_agent.probes.host_root import is_elsewhere
from flyball_agent.settings import AgentSettings
from flyball_agent.snapshot import HostSnapshot, ProbeSnapshot
from flyball_agent.snapshot_output import reason_words, unavailable_fields
from flyball_proto.unavailable_reading import Reason, UnavailableReading

CONNECT_SECONDS = 2.0
MAX_NAMES = 6
HOST_PROCESSES = "pid:[4026531836]"
"""The first process namespace: PROC_PID_INIT_INO in the kernel's include/linux/proc_ns.h."""


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check of the agent's surroundings."""

    subject: str
    fine: bool
    detail: str
    remedy: str = ""


def check_surroundings(settings: AgentSettings) -> list[Finding]:
    """Check what the agent needs: a state directory, a socket and a collector."""
    found = [_state_directory(settings), *_process_ids(settings)]
    if settings.socket_path:
        found.append(_socket(settings))
    return found + [_collector(address) for address in settings.collector]


def as_text(snapshot: HostSnapshot, findings: Sequence[Finding]) -> str:
    """Return one line per probe and per check; ✓: readable, ·: not present, ✗: present but not readable."""
    lines = [f"Metrics of {snapshot.host}", ""]
    for probe in snapshot.probes:
        if not probe.readings and len(probe.unavailable) == 1:
            lines.append(f"{_mark(probe)} {probe.name:<16} {reason_words(probe.unavailable[0])}")
            continue
        lines.append(f"{_mark(probe)} {probe.name:<16} {_summary(probe)}")
        lines += [f"    {line}" for line in _grouped(probe.unavailable)]
    lines += ["", "Requirements of the agent", ""]
    for finding in findings:
        remedy = f" → {finding.remedy}" if finding.remedy else ""
        lines.append(f"{'✓' if finding.fine else '✗'} {finding.subject:<16} {finding.detail}{remedy}")
    return "\n".join(lines)


def as_json(snapshot: HostSnapshot, findings: Sequence[Finding]) -> str:
    """Return the same as JSON."""
    probes = [
        {
            "probe": probe.name,
            "readings": len(probe.readings),
            "known": probe.known,
            "unavailable": [unavailable_fields(missing) for missing in probe.unavailable],
        }
        for probe in snapshot.probes
    ]
    requirements = [asdict(finding) for finding in findings]
    return json.dumps({"host": snapshot.host, "probes": probes, "needs": requirements}, indent=2)


def _grouped(unavailable: Sequence[UnavailableReading]) -> list[str]:
    """Return one line per reason, with the names of all readings that share it."""
    groups: dict[tuple[Reason, str, str], dict[str, list[str]]] = {}
    for missing in unavailable:
        by_resource = groups.setdefault((missing.reason, missing.detail, missing.remedy), {})
        by_resource.setdefault(missing.resource, []).append(missing.metric)
    return [
        reason_words(UnavailableReading("", "; ".join(_shortened(_names(by_resource))), "", reason, detail, remedy))
        for (reason, detail, remedy), by_resource in groups.items()
    ]


def _names(by_resource: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the metrics of each resource, with the name of the resource once."""
    return [
        " of ".join(part for part in (", ".join(_shortened(metrics)), resource) if part)
        for resource, metrics in by_resource.items()
    ]


def _shortened(names: Sequence[str]) -> list[str]:
    shown = [name for name in names[:MAX_NAMES] if name]
    return shown if len(names) <= MAX_NAMES else [*shown, f"{len(names) - MAX_NAMES} more"]


def _mark(probe: ProbeSnapshot) -> str:
    reasons = {missing.reason for missing in probe.unavailable}
    if reasons & {Reason.DENIED, Reason.FAILED, Reason.TIMED_OUT, Reason.STALE}:
        return "✗"
    return "✓" if probe.known else "·"


def _summary(probe: ProbeSnapshot) -> str:
    if not probe.readings:
        return "no readings"
    unknown = len(probe.readings) - probe.known
    readings = f"{probe.known} {'reading' if probe.known == 1 else 'readings'}"
    return readings + (f", {unknown} unavailable" if unknown else "")


def is_writable(directory: Path) -> bool:
    """Return True if files can be created in a directory, or in its nearest parent that exists."""
    while not directory.exists() and directory != directory.parent:
        directory = directory.parent
    return os.access(directory, os.W_OK | os.X_OK)


def _state_directory(settings: AgentSettings) -> Finding:
    directory = settings.state_directory
    if is_writable(Path(directory)):
        return Finding("state_directory", True, directory)
    remedy = "make the agent's user the owner of the directory, or change state_directory"
    detail = f"{directory}: no write permission; records are kept in memory only"
    return Finding("state_directory", False, detail, remedy)


def _process_ids(settings: AgentSettings) -> list[Finding]:
    """Check that the agent and the host use the same process ids. Outside of Linux there is only one namespace."""
    proc = Path(settings.proc_root)
    own = _link(proc / "self/ns/pid")
    if not own:
        return []
    if own == HOST_PROCESSES or (is_elsewhere(Path(settings.root)) and own == _link(proc / "1/ns/pid")):
        return [Finding("processes", True, "process ids are those of the host")]
    detail = "the agent runs in its own process namespace: GPU processes and clients cannot be matched to runs"
    remedy = "set hostPID: true in the pod, or start the container with --pid=host"
    return [Finding("processes", False, detail, remedy)]


def _link(path: Path) -> str:
    try:
        return os.readlink(path)  # noqa: PTH115  the link of a namespace is a name, not a path
    except OSError:
        return ""


def _socket(settings: AgentSettings) -> Finding:
    path = settings.socket_path
    if is_writable(Path(path).parent):
        return Finding("socket_path", True, path)
    remedy = "make the agent's user the owner of the directory, or change socket_path"
    return Finding("socket_path", False, f"cannot create {path}: training processes cannot report", remedy)


def _collector(address: str) -> Finding:
    host, _, port = address.rpartition(":")
    try:
        with socket.create_connection((host.strip("[]"), int(port)), CONNECT_SECONDS):
            return Finding("collector", True, f"{address} accepts connections")
    except OSError as error:
        reason = error.strerror or str(error)
        remedy = "start the collector, or change the setting collector; records are spooled until then"
        return Finding("collector", False, f"{address}: {reason}", remedy)
