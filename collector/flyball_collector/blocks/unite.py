"""Two versions of one block made one: no sequence is lost, none is there twice, whoever came first."""

from collections.abc import Sequence

import numpy as np

from flyball_collector.blocks.block import Block, RowGroup
from flyball_collector.blocks.build import assemble, select
from flyball_collector.blocks.codec import decode
from flyball_collector.blocks.errors import BlockError
from flyball_proto.ranges import RangeSet

Groups = Sequence[RowGroup]


def unite(a: Block, b: Block) -> Block:
    """Everything that either block knows; commutative, associative and idempotent.

    A record's numbers are the same whoever stored it, but its times of receipt may differ: the row received first
    stays, and if even that is equal, the lesser one does: the same on every side.
    """
    if a.key != b.key or a.ticks != b.ticks:
        raise BlockError(f"blocks {a.key} ({a.ticks} ticks) and {b.key} ({b.ticks} ticks) are not the same block")
    ours, theirs = decode(a.payload), decode(b.payload)
    if twice := a.present & b.present:
        ours, theirs = _decide(ours, theirs, twice)
    received_ns = max(a.received_ns, b.received_ns)
    return assemble(a.key, a.ticks, (*ours, *theirs), a.lost | b.lost, a.refused | b.refused, received_ns)


def _decide(ours: Groups, theirs: Groups, twice: RangeSet) -> tuple[tuple[RowGroup, ...], tuple[RowGroup, ...]]:
    """Leave each sequence that both have with one of them."""
    our_rows, their_rows = _rows(ours, twice), _rows(theirs, twice)
    we_keep = {sequence for sequence, row in our_rows.items() if row <= their_rows[sequence]}
    they_keep = their_rows.keys() - we_keep
    return _without(ours, they_keep), _without(theirs, we_keep)


def _rows(groups: Groups, sequences: RangeSet) -> dict[int, tuple[int | bytes, ...]]:
    """What tells one version of a row from another, in the order in which they are preferred."""
    return {
        sequence: (
            int(group.received_ns[row]),
            int(group.corrected_ns[row]),
            int(group.agent_ns[row]),
            int(group.boot_ns[row]),
            group.layout,
            int(group.unavailable[row]),
            int(group.tenancy[row]),
            group.values[row].tobytes(),
            group.valid[row].tobytes(),
            group.extras.get(sequence, b""),
        )
        for group in groups
        for row, sequence in enumerate(group.sequences.tolist())
        if sequence in sequences
    }


def _without(groups: Groups, sequences: set[int]) -> tuple[RowGroup, ...]:
    dropped = np.fromiter(sequences, dtype=np.int64, count=len(sequences))
    return tuple(select(group, np.flatnonzero(~np.isin(group.sequences, dropped))) for group in groups)
