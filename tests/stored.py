"""Read a collector's SQLite file afterwards, to check that nothing was lost or stored twice."""

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from flyball_collector.blocks.codec import decode
from flyball_collector.store.store_urls import open_store
from flyball_proto.ranges import RangeSet

FOREVER_NS = 2**62


@dataclass(slots=True)
class Stored:
    """One epoch: how often each sequence is stored, with its values, and which ranges were declared lost or refused."""

    rows: Counter[int] = field(default_factory=Counter)
    values: dict[int, tuple[int, ...]] = field(default_factory=dict)
    agent_ns: dict[int, int] = field(default_factory=dict)
    lost: RangeSet = field(default_factory=RangeSet)
    refused: RangeSet = field(default_factory=RangeSet)

    @property
    def present(self) -> RangeSet:
        return RangeSet.of(self.rows)


def read_stored(database: Path, host: str) -> dict[bytes, Stored]:
    """Return everything stored for a host, by epoch."""
    epochs: dict[bytes, Stored] = {}
    store = open_store(f"sqlite:///{database}")
    try:
        for block in store.read_blocks(host, 0, FOREVER_NS):
            found = epochs.setdefault(block.key.epoch, Stored())
            found.lost |= block.lost
            found.refused |= block.refused
            for group in decode(block.payload):
                sequences = [int(s) for s in group.sequences]
                found.rows.update(sequences)
                found.agent_ns.update(zip(sequences, map(int, group.agent_ns), strict=True))
                found.values.update(zip(sequences, map(tuple, group.values.tolist()), strict=True))
    finally:
        store.close()
    return epochs
