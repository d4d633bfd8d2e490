"""Inspects a spool without changing it: epochs, files, records, damage and losses."""

import json
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from flyball_agent.errors import NoSpool
from flyball_agent.record import Epoch
from flyball_agent.spool.format import Damage, EntryKind, decode_epoch, decode_record, entries_start, scan
from flyball_agent.spool.losses import read_losses
from flyball_proto.ranges import RangeSet


class SegmentReport(msgspec.Struct, frozen=True):
    """The content of one file."""

    file: str
    bytes: int
    records: int
    definitions: int
    ranges: list[tuple[int, int]]
    damaged_bytes: int
    fault: str = ""


class EpochReport(msgspec.Struct):
    """The files and losses of one epoch."""

    epoch: str
    started_ns: int
    interval_seconds: float
    segments: list[SegmentReport]
    lost: list[tuple[int, int]]


def find_spool(directory: Path) -> Path:
    """Return the `spool` folder of a state directory, or the folder itself. Raise `NoSpool` without either."""
    if (directory / "spool").is_dir():
        return directory / "spool"
    if directory.is_dir() and (directory.name == "spool" or any(directory.glob("*.spool"))):
        return directory
    if directory.is_dir():
        raise NoSpool(f"{directory} contains no spool; name the state_directory of an agent")
    if directory.exists():
        raise NoSpool(f"{directory} is a file; name the state_directory of an agent")
    raise NoSpool(f"there is no folder {directory}; name the state_directory of an agent")


def inspect(folder: Path) -> list[EpochReport]:
    """Return the epochs of a spool, oldest first. Files that are deleted meanwhile were settled."""
    epochs: dict[str, EpochReport] = {}
    for path in sorted(folder.glob("*.spool")):
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            continue
        epoch, segment = inspect_segment(path.name, data)
        name = epoch.name if epoch else path.name[:32]
        report = epochs.setdefault(name, _report(name, epoch))
        if epoch and not report.started_ns:
            report.started_ns, report.interval_seconds = epoch.started_ns, epoch.interval_ms / 1000
        report.segments.append(segment)
    for entry in read_losses(folder):
        epochs.setdefault(entry.epoch, _report(entry.epoch, entry.key)).lost.extend(entry.ranges)
    return sorted(epochs.values(), key=lambda report: report.started_ns)


def inspect_segment(name: str, data: bytes) -> tuple[Epoch | None, SegmentReport]:
    """Return the epoch and the content of one file. Damage is reported, not raised."""
    epoch: Epoch | None = None
    sequences: list[int] = []
    definitions = damaged = 0
    for part in scan(data, entries_start(data)):
        if isinstance(part, Damage):
            damaged += part.end - part.start
        elif part.kind == EntryKind.EPOCH:
            epoch = decode_epoch(part.body) or epoch
        elif part.kind == EntryKind.DEFINITION:
            definitions += 1
        elif part.kind == EntryKind.RECORD and (record := decode_record(part.body)) is not None:
            sequences.append(record.sequence)
    fault = "" if epoch else "it contains no epoch"
    ranges = list(RangeSet.of(sequences))
    return epoch, SegmentReport(name, len(data), len(sequences), definitions, ranges, damaged, fault)


def as_text(folder: Path, epochs: list[EpochReport]) -> str:
    """Return the report as text."""
    total = sum(segment.bytes for epoch in epochs for segment in epoch.segments)
    lines = [f"{folder}: {len(epochs)} {'epoch' if len(epochs) == 1 else 'epochs'}, {total / 2**20:.1f} MiB"]
    for epoch in epochs:
        started = datetime.fromtimestamp(epoch.started_ns / 1e9, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
        lines.append(f"epoch {epoch.epoch} since {started}, a record every {epoch.interval_seconds:g} s")
        for segment in epoch.segments:
            notes = f", {segment.damaged_bytes} bytes damaged" if segment.damaged_bytes else ""
            notes += f", {segment.fault}" if segment.fault else ""
            held = f"{segment.records} records {_range_text(segment.ranges)}"
            lines.append(f"  {segment.file}  {segment.bytes / 2**20:.1f} MiB  {held}{notes}")
        if epoch.lost:
            lines.append(f"  lost, not yet settled: {_range_text(epoch.lost)}")
    return "\n".join(lines)


def as_json(folder: Path, epochs: list[EpochReport]) -> str:
    """Return the report as JSON."""
    return json.dumps({"directory": str(folder), "epochs": msgspec.to_builtins(epochs)}, indent=2)


def _report(name: str, epoch: Epoch | None) -> EpochReport:
    return EpochReport(name, epoch.started_ns if epoch else 0, epoch.interval_ms / 1000 if epoch else 0.0, [], [])


def _range_text(ranges: list[tuple[int, int]]) -> str:
    shown = ", ".join(f"{first}–{following - 1}" for first, following in ranges[:5])
    return shown + (f" and {len(ranges) - 5} more ranges" if len(ranges) > 5 else "")
