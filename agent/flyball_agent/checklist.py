"""`--check`: what can be read on this host and what cannot, with the reason and the remedy."""

import json
import socket
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from flyball_agent.host import is_writable
from flyball_agent.settings import AgentSettings
from flyball_agent.snapshot import ProbeSnapshot, Snapshot
from flyball_agent.snapshot_output import reason_words, unavailable_fields
from flyball_proto.unavailable_reading import Reason, UnavailableReading

CONNECT_SECONDS = 2.0
MOST_NAMES = 6


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing around the agent that is as it should be, or not."""

    subject: str
    fine: bool
    detail: str
    remedy: str = ""


def look_around(settings: AgentSettings) -> list[Finding]:
    """What the agent needs besides readings: a place for its spool, its socket, a collector."""
    found = [_state_directory(settings)]
    if settings.socket_path:
        found.append(_socket(settings))
    return found + [_collector(address) for address in settings.collector]


def as_text(snapshot: Snapshot, findings: Sequence[Finding]) -> str:
    """A line each; ✓ can be read, · is not here, ✗ could be read but is not."""
    lines = [f"What can be read on {snapshot.host}", ""]
    for probe in snapshot.probes:
        if not probe.readings and len(probe.unavailable) == 1:
            lines.append(f"{_mark(probe)} {probe.name:<16} {reason_words(probe.unavailable[0])}")
            continue
        lines.append(f"{_mark(probe)} {probe.name:<16} {_summary(probe)}")
        lines += [f"    {words}" for words in _gathered(probe.unavailable)]
    lines += ["", "What the agent needs", ""]
    for finding in findings:
        remedy = f" → {finding.remedy}" if finding.remedy else ""
        lines.append(f"{'✓' if finding.fine else '✗'} {finding.subject:<16} {finding.detail}{remedy}")
    return "\n".join(lines)


def as_json(snapshot: Snapshot, findings: Sequence[Finding]) -> str:
    """The same, for machines."""
    probes = [
        {
            "probe": probe.name,
            "readings": len(probe.readings),
            "known": probe.known,
            "unavailable": [unavailable_fields(missing) for missing in probe.unavailable],
        }
        for probe in snapshot.probes
    ]
    around = [asdict(finding) for finding in findings]
    return json.dumps({"host": snapshot.host, "probes": probes, "needs": around}, indent=2)


def _gathered(unavailable: Sequence[UnavailableReading]) -> list[str]:
    """A line a reason; readings that share it are named together."""
    groups: dict[tuple[Reason, str, str], list[str]] = {}
    for missing in unavailable:
        name = " of ".join(part for part in (missing.metric, missing.resource) if part)
        groups.setdefault((missing.reason, missing.detail, missing.remedy), []).append(name)
    return [
        reason_words(UnavailableReading("", ", ".join(_shortened(names)), "", reason, detail, remedy))
        for (reason, detail, remedy), names in groups.items()
    ]


def _shortened(names: Sequence[str]) -> list[str]:
    shown = [name for name in names[:MOST_NAMES] if name]
    return shown if len(names) <= MOST_NAMES else [*shown, f"{len(names) - MOST_NAMES} more"]


def _mark(probe: ProbeSnapshot) -> str:
    reasons = {missing.reason for missing in probe.unavailable}
    if reasons & {Reason.DENIED, Reason.FAILED, Reason.TIMED_OUT, Reason.STALE}:
        return "✗"
    return "✓" if probe.known else "·"


def _summary(probe: ProbeSnapshot) -> str:
    if not probe.readings:
        return "nothing"
    unknown = len(probe.readings) - probe.known
    return f"{probe.known} readings" + (f", {unknown} unknown" if unknown else "")


def _state_directory(settings: AgentSettings) -> Finding:
    directory = settings.state_directory
    if is_writable(Path(directory)):
        return Finding("state_directory", True, directory)
    remedy = "give the agent's user the directory, or set state_directory"
    return Finding("state_directory", False, f"{directory} is not writable: records stay in memory only", remedy)


def _socket(settings: AgentSettings) -> Finding:
    path = settings.socket_path
    if is_writable(Path(path).parent):
        return Finding("socket_path", True, path)
    remedy = "give the agent's user the directory, or set socket_path"
    return Finding("socket_path", False, f"{path} cannot be made: training processes cannot report", remedy)


def _collector(address: str) -> Finding:
    host, _, port = address.rpartition(":")
    try:
        with socket.create_connection((host.strip("[]"), int(port)), CONNECT_SECONDS):
            return Finding("collector", True, f"{address} answers")
    except OSError as error:
        reason = error.strerror or str(error)
        return Finding("collector", False, f"{address}: {reason}", "start it, or set collector; records wait meanwhile")
