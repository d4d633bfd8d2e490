"""The file of losses: sequences that the spool dropped and that are not settled yet."""

from pathlib import Path

import msgspec

from flyball_agent.record import Epoch
from flyball_proto.ranges import RangeSet

LOSSES_FILE = "lost.json"


class LossEntry(msgspec.Struct, frozen=True):
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


def loss_entry(epoch: Epoch, following: int, lost: RangeSet) -> LossEntry:
    """Return the losses of an epoch in the form that is written."""
    return LossEntry(epoch.name, epoch.started_ns, epoch.boot_id, epoch.interval_ms, following, list(lost))


def write_losses(directory: Path, entries: list[LossEntry]) -> None:
    """Replace the file; delete it if there are no losses."""
    path = directory / LOSSES_FILE
    if not entries:
        path.unlink(missing_ok=True)
        return
    fresh = path.with_suffix(".json.new")
    fresh.write_bytes(msgspec.json.encode(entries))
    fresh.replace(path)


def read_losses(directory: Path) -> list[LossEntry]:
    """Read the losses of earlier runs of the agent. Raise ValueError if the file is damaged."""
    try:
        entries = msgspec.json.decode((directory / LOSSES_FILE).read_bytes(), type=list[LossEntry])
    except FileNotFoundError:
        return []
    except msgspec.DecodeError as error:
        raise ValueError(f"{directory / LOSSES_FILE}: {error}") from None
    return [entry for entry in entries if len(bytes.fromhex(entry.epoch)) == 16 and entry.next >= 0]
