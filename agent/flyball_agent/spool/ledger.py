"""The ledger of losses: what was dropped from the spool and is not yet known to be declared, kept beside it."""

from pathlib import Path

import msgspec

from flyball_agent.record import Epoch
from flyball_proto.ranges import RangeSet

LEDGER_NAME = "lost.json"


class LedgerEntry(msgspec.Struct, frozen=True):
    """The losses of one epoch."""

    epoch: str
    started_ns: int
    boot_id: str
    interval_ms: int
    next: int
    ranges: list[tuple[int, int]]

    @property
    def key(self) -> Epoch:
        return Epoch(bytes.fromhex(self.epoch), self.started_ns, self.boot_id, self.interval_ms)


def ledger_entry(epoch: Epoch, following: int, lost: RangeSet) -> LedgerEntry:
    """The losses of an epoch as they are written."""
    return LedgerEntry(epoch.name, epoch.started_ns, epoch.boot_id, epoch.interval_ms, following, list(lost))


def write_ledger(directory: Path, entries: list[LedgerEntry]) -> None:
    """Replace the ledger as a whole; an empty one is removed."""
    path = directory / LEDGER_NAME
    if not entries:
        path.unlink(missing_ok=True)
        return
    fresh = path.with_suffix(".json.new")
    fresh.write_bytes(msgspec.json.encode(entries))
    fresh.replace(path)


def read_ledger(directory: Path) -> list[LedgerEntry]:
    """What an earlier life lost; ValueError when the file is damaged."""
    try:
        entries = msgspec.json.decode((directory / LEDGER_NAME).read_bytes(), type=list[LedgerEntry])
    except FileNotFoundError:
        return []
    except msgspec.DecodeError as error:
        raise ValueError(f"{directory / LEDGER_NAME}: {error}") from None
    return [entry for entry in entries if len(bytes.fromhex(entry.epoch)) == 16 and entry.next >= 0]
