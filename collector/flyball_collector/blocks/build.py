"""Making blocks from rows."""

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
    """A block of checked rows; rows of one layout may come in several groups, in any order."""
    check_columns(groups, layouts)
    return assemble(key, ticks, groups, lost, refused, received_ns)


def check_columns(groups: Iterable[RowGroup], layouts: Mapping[int, KnownLayout]) -> None:
    """Rows are as wide as their layout; else a `BlockError`."""
    for group in groups:
        known = layouts.get(group.layout)
        if known is None or known.count != group.values.shape[1]:
            count = "unknown" if known is None else f"of {known.count}"
            raise BlockError(
                f"rows of {group.values.shape[1]} columns for layout {group.layout:016x}, which is {count}"
            )


def assemble(
    key: BlockKey, ticks: int, groups: Sequence[RowGroup], lost: RangeSet, refused: RangeSet, received_ns: int
) -> Block:
    """The one form of a block: a group a layout, rising sequences, present wins over lost, and lost over refused."""
    tidy = _tidy(groups)
    present = _sequences(tidy)
    _check_bounds(key, ticks, present | lost | refused)
    times = np.concatenate([group.corrected_ns for group in tidy]) if tidy else np.array([received_ns])
    return Block(
        key=key,
        ticks=ticks,
        present=present,
        lost=(lost := lost - present),
        refused=refused - present - lost,
        first_ns=int(times.min()),
        last_ns=int(times.max()),
        received_ns=received_ns,
        payload=encode(tidy) if tidy else EMPTY,
        summary=encode_summary([summarize(group) for group in tidy]) if tidy else EMPTY_SUMMARY,
    )


def _sequences(groups: Sequence[RowGroup]) -> RangeSet:
    """Rising runs are found without a Python step a row."""
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
            f"block {key.number} of {key.host}: sequences {outside} are not in {first} … {first + ticks - 1}"
        )


def _tidy(groups: Sequence[RowGroup]) -> list[RowGroup]:
    """One group a layout, by layout; each sequence once (the first group that has it keeps it)."""
    taken: set[int] = set()
    by_layout: dict[int, list[RowGroup]] = {}
    for group in groups:
        kept = _without(group, taken)
        if len(kept.sequences):
            by_layout.setdefault(group.layout, []).append(kept)
    return [_joined(by_layout[layout]) for layout in sorted(by_layout)]


def _without(group: RowGroup, taken: set[int]) -> RowGroup:
    """A group in rising sequence without what is taken already; takes what remains."""
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
    """Some rows of a group, in the order given."""
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


def _joined(groups: Sequence[RowGroup]) -> RowGroup:
    if len(groups) == 1:
        return groups[0]
    whole = RowGroup(
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
    return select(whole, np.argsort(whole.sequences))
