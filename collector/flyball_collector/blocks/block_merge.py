"""Merges two versions of one block: no sequence is lost or duplicated, in whatever order they come."""

from collections.abc import Sequence

import numpy as np

from flyball_collector.blocks.assembly import assemble, select
from flyball_collector.blocks.block import Block, RowGroup
from flyball_collector.blocks.codec import decode
from flyball_collector.blocks.errors import BlockError
from flyball_proto.ranges import RangeSet

Groups = Sequence[RowGroup]


def merge_blocks(a: Block, b: Block) -> Block:
    """Return everything that either block has. The operation is commutative, associative and idempotent.

    A record's values are the same in both, but its times of receipt may differ: the row received first stays. If even
    these are equal, the smaller row stays, so that every collector decides alike.
    """
    if a.key != b.key or a.ticks != b.ticks:
        raise BlockError(f"blocks {a.key} ({a.ticks} ticks) and {b.key} ({b.ticks} ticks) are not the same block")
    ours, theirs = decode(a.payload), decode(b.payload)
    if duplicates := a.present & b.present:
        ours, theirs = _split_duplicates(ours, theirs, duplicates)
    received_ns = max(a.received_ns, b.received_ns)
    return assemble(a.key, a.ticks, (*ours, *theirs), a.lost | b.lost, a.refused | b.refused, received_ns)


def _split_duplicates(
    ours: Groups, theirs: Groups, duplicates: RangeSet
) -> tuple[tuple[RowGroup, ...], tuple[RowGroup, ...]]:
    """Keep each sequence that both have in only one of them."""
    our_rows, their_rows = _rows(ours, duplicates), _rows(theirs, duplicates)
    our_sequences = {sequence for sequence, row in our_rows.items() if row <= their_rows[sequence]}
    their_sequences = their_rows.keys() - our_sequences
    return _without(ours, their_sequences), _without(theirs, our_sequences)


def _rows(groups: Groups, sequences: RangeSet) -> dict[int, tuple[int | bytes, ...]]:
    """Return the contents of each row, in the order in which versions are compared."""
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
