"""Reads back what earlier lives left in the spool's directory."""

from pathlib import Path

import structlog

from flyball_agent.clock import Clock
from flyball_agent.errors import SpoolDamaged
from flyball_agent.record import Epoch
from flyball_agent.spool.format import parse_file_name
from flyball_agent.spool.ledger import LEDGER_NAME, read_ledger
from flyball_agent.spool.life import Life
from flyball_agent.spool.segment import FileSegment
from flyball_proto.ranges import RangeSet

_log = structlog.get_logger(__name__)


def load_lives(directory: Path, clock: Clock) -> list[Life]:
    """Every epoch of which a file or a loss is left, oldest first; none of them will grow."""
    if not directory.is_dir():
        return []
    lives: dict[bytes, Life] = {}
    for segment in load_segments(directory, clock):
        life = lives.setdefault(segment.epoch.id, Life(segment.epoch, ended=True))
        life.segments.append(segment)
        life.next = max(life.next, segment.next)
    _add_losses(lives, directory)
    for life in [life for life in lives.values() if life.next == 0]:
        for empty in life.segments:
            empty.delete()
        del lives[life.epoch.id]
    return sorted(lives.values(), key=lambda life: life.epoch.started_ns)


def load_segments(directory: Path, clock: Clock) -> list[FileSegment]:
    """The files in order; those that do not say their epoch follow their brothers."""
    segments: list[FileSegment] = []
    headless: list[Path] = []
    for path in sorted(directory.iterdir()):
        if parse_file_name(path.name) is None:
            if not path.name.startswith(LEDGER_NAME):
                _log.warning("spool_foreign_file", path=str(path))
            continue
        try:
            segment = _load(path, clock, None)
        except SpoolDamaged as error:
            _log.warning("spool_file_unreadable", path=str(path), error=str(error))
            headless.append(path)
            continue
        if segment is not None:
            segments.append(segment)
    brothers = {segment.epoch.name: segment.epoch for segment in segments}
    for path in headless:
        epoch = brothers.get(path.name[:32])
        segment = _load(path, clock, epoch) if epoch is not None else None
        if segment is not None:
            segments.append(segment)
    return sorted(segments, key=lambda segment: segment.path.name)


def _load(path: Path, clock: Clock, epoch: Epoch | None) -> FileSegment | None:
    """A file's age counts from when it was last written; a clock that has been set back makes it young, not old."""
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


def _add_losses(lives: dict[bytes, Life], directory: Path) -> None:
    try:
        entries = read_ledger(directory)
    except (OSError, ValueError) as error:
        _log.warning("spool_ledger_damaged", error=str(error))
        return
    for entry in entries:
        epoch = entry.key
        life = lives.setdefault(epoch.id, Life(epoch, ended=True))
        life.next = max(life.next, entry.next)
        life.lost = RangeSet(RangeSet(entry.ranges).within(0, life.next)) - life.held()
