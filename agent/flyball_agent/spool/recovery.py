"""Loads the spool files that earlier runs of the agent left."""

from pathlib import Path

import structlog

from flyball_agent.clock import HostClock
from flyball_agent.errors import SpoolDamaged
from flyball_agent.record import Epoch
from flyball_agent.spool.epoch_segments import EpochSegments
from flyball_agent.spool.format import parse_file_name
from flyball_agent.spool.losses import LOSSES_FILE, read_losses
from flyball_agent.spool.segment import FileSegment
from flyball_proto.ranges import RangeSet

_log = structlog.get_logger(__name__)


def load_epochs(directory: Path, clock: HostClock) -> list[EpochSegments]:
    """Load every epoch of which files or losses are left, oldest first. None of them gets new records."""
    if not directory.is_dir():
        return []
    epochs: dict[bytes, EpochSegments] = {}
    for segment in load_segments(directory, clock):
        state = epochs.setdefault(segment.epoch.id, EpochSegments(segment.epoch, ended=True))
        state.segments.append(segment)
        state.next = max(state.next, segment.next)
    _add_losses(epochs, directory)
    for state in [state for state in epochs.values() if state.next == 0]:
        for empty in state.segments:
            empty.delete()
        del epochs[state.epoch.id]
    return sorted(epochs.values(), key=lambda state: state.epoch.started_ns)


def load_segments(directory: Path, clock: HostClock) -> list[FileSegment]:
    """Load the files in order. A file without a readable epoch gets that of other files with the same name."""
    segments: list[FileSegment] = []
    without_epoch: list[Path] = []
    for path in sorted(directory.iterdir()):
        if parse_file_name(path.name) is None:
            if not path.name.startswith(LOSSES_FILE):
                _log.warning("spool_unknown_file", path=str(path))
            continue
        try:
            segment = _load(path, clock, None)
        except SpoolDamaged as error:
            _log.warning("spool_file_unreadable", path=str(path), error=str(error))
            without_epoch.append(path)
            continue
        if segment is not None:
            segments.append(segment)
    known_epochs = {segment.epoch.name: segment.epoch for segment in segments}
    for path in without_epoch:
        epoch = known_epochs.get(path.name[:32])
        segment = _load(path, clock, epoch) if epoch is not None else None
        if segment is not None:
            segments.append(segment)
    return sorted(segments, key=lambda segment: segment.path.name)


def _load(path: Path, clock: HostClock, epoch: Epoch | None) -> FileSegment | None:
    """Load one file. Its age is the time since its last write; a clock that was set back makes it young, not old."""
    stat, named = path.stat(), parse_file_name(path.name)
    if named is None:
        return None
    if stat.st_size == 0:
        path.unlink()
        return None
    age_ns = max(0, clock.wall_ns() - stat.st_mtime_ns)
    segment = FileSegment.load(path, named[1], clock.boot_ns() - age_ns, epoch)
    if segment.damaged_bytes:
        _log.warning("spool_segment_damaged", path=str(path), damaged_bytes=segment.damaged_bytes)
    return segment


def _add_losses(epochs: dict[bytes, EpochSegments], directory: Path) -> None:
    try:
        entries = read_losses(directory)
    except (OSError, ValueError) as error:
        _log.warning("spool_losses_file_damaged", error=str(error))
        return
    for entry in entries:
        epoch = entry.key
        state = epochs.setdefault(epoch.id, EpochSegments(epoch, ended=True))
        state.next = max(state.next, entry.next)
        state.lost = RangeSet(RangeSet(entry.ranges).within(0, state.next)) - state.held()
