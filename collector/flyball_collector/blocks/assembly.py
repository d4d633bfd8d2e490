"""Assembles blocks from rows."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from flyball_collector.blocks.block import Block, BlockKey, RowGroup
from flyball_collector.blocks.codec import encode
from flyball_collector.blocks.errors import BlockError
from flyball_collector.blocks.summary import encode_summary, summarize
from flyball_collector.tick import KnownLayout
from flyball_proto.ranges import RangeSet

EMPTY = encode(())
EMPTY_SUMMARY = encode_summary(())


def build_block(
    key: BlockKey,
    ticks: int,
    groups: Sequence[RowGroup],
    lost: RangeSet,
    refused: RangeSet,
    received_ns: int,
    layouts: Mapping[int, KnownLayout],
) -> Block:
    """Build a block from checked rows. Rows of one layout may come in several groups, in any order."""
    check_columns(groups, layouts)
    return assemble(key, ticks, groups, lost, refused, received_ns)


def check_columns(groups: Iterable[RowGroup], layouts: Mapping[int, KnownLayout]) -> None:
    """Raise `BlockError` if rows are not as wide as their layout."""
    for group in groups:
        known = layouts.get(group.layout)
        if known is None or known.count != group.values.shape[1]:
            count = "is unknown" if known is None else f"has {known.count} columns"
            raise BlockError(f"rows of {group.values.shape[1]} columns for layout {group.layout:016x}, which {count}")


def assemble(
    key: BlockKey, ticks: int, groups: Sequence[RowGroup], lost: RangeSet, refused: RangeSet, received_ns: int
) -> Block:
    """Assemble a block: one group per layout, rising sequences, present over lost, lost over refused."""
    normalised = _normalised(groups)
    present = _sequences(normalised)
    _check_bounds(key, ticks, present | lost | refused)
    times = np.concatenate([group.corrected_ns for group in normalised]) if normalised else np.array([received_ns])
    return Block(
        key=key,
        ticks=ticks,
        present=present,
        lost=(lost := lost - present),
        refused=refused - present - lost,
        first_ns=int(times.min()),
        last_ns=int(times.max()),
        received_ns=received_ns,
        payload=encode(normalised) if normalised else EMPTY,
        summary=encode_summary([summarize(group) for group in normalised]) if normalised else EMPTY_SUMMARY,
    )


def _sequences(groups: Sequence[RowGroup]) -> RangeSet:
    """Return the sequences of all rows. Runs are found without a Python step for each row."""
    ranges: list[tuple[int, int]] = []
    for group in groups:
        breaks = np.flatnonzero(np.diff(group.sequences) != 1) + 1
        firsts = group.sequences[np.concatenate(([0], breaks))]
        lasts = group.sequences[np.concatenate((breaks, [len(group.sequences)])) - 1]
        ranges += zip(firsts.tolist(), (lasts + 1).tolist(), strict=True)
    return RangeSet(ranges)


def _check_bounds(key: BlockKey, ticks: int, settled: RangeSet) -> None:
    first = key.number * ticks
    if outside := settled - RangeSet([(first, first + ticks)]):
        raise BlockError(
            f"block {key.number} of {key.host}: sequences {outside} are outside {first} … {first + ticks - 1}"
        )


def _normalised(groups: Sequence[RowGroup]) -> list[RowGroup]:
    """Return one group per layout, by layout, with each sequence once: the first group that has it keeps it."""
    taken: set[int] = set()
    by_layout: dict[int, list[RowGroup]] = {}
    for group in groups:
        kept = _take_new(group, taken)
        if len(kept.sequences):
            by_layout.setdefault(group.layout, []).append(kept)
    return [_join(by_layout[layout]) for layout in sorted(by_layout)]


def _take_new(group: RowGroup, taken: set[int]) -> RowGroup:
    """Return a group's rows that are not in `taken`, in rising sequence, and add them to `taken`."""
    sequences = group.sequences.tolist()
    rising = all(a < b for a, b in pairwise(sequences))
    if rising and taken.isdisjoint(sequences):
        taken.update(sequences)
        return group
    rows: list[int] = []
    for row, sequence in enumerate(sequences):
        if sequence not in taken:
            taken.add(sequence)
            rows.append(row)
    return select(group, np.array(sorted(rows, key=sequences.__getitem__), dtype=np.intp))


def select(group: RowGroup, rows: NDArray[np.intp]) -> RowGroup:
    """Return some rows of a group, in the given order."""
    kept = set(group.sequences[rows].tolist())
    return replace(
        group,
        sequences=group.sequences[rows],
        agent_ns=group.agent_ns[rows],
        boot_ns=group.boot_ns[rows],
        corrected_ns=group.corrected_ns[rows],
        received_ns=group.received_ns[rows],
        unavailable=group.unavailable[rows],
        tenancy=group.tenancy[rows],
        values=group.values[rows],
        valid=group.valid[rows],
        extras={sequence: extra for sequence, extra in group.extras.items() if sequence in kept},
    )


def _join(groups: Sequence[RowGroup]) -> RowGroup:
    if len(groups) == 1:
        return groups[0]
    joined = RowGroup(
        layout=groups[0].layout,
        sequences=np.concatenate([g.sequences for g in groups]),
        agent_ns=np.concatenate([g.agent_ns for g in groups]),
        boot_ns=np.concatenate([g.boot_ns for g in groups]),
        corrected_ns=np.concatenate([g.corrected_ns for g in groups]),
        received_ns=np.concatenate([g.received_ns for g in groups]),
        unavailable=np.concatenate([g.unavailable for g in groups]),
        tenancy=np.concatenate([g.tenancy for g in groups]),
        values=np.concatenate([g.values for g in groups]),
        valid=np.concatenate([g.valid for g in groups]),
        extras={sequence: extra for g in groups for sequence, extra in g.extras.items()},
    )
    return select(joined, np.argsort(joined.sequences))
