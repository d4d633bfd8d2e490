"""Test data: rows and blocks."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from flyball_collector.blocks.assembly import build_block
from flyball_collector.blocks.block import Block, BlockKey, RowGroup
from flyball_collector.tick import KnownLayout
from flyball_proto.layout import Column, Layout
from flyball_proto.metric import counter, gauge, state
from flyball_proto.ranges import RangeSet

SECOND_NS = 1_000_000_000
START_NS = 1_767_225_600 * SECOND_NS  # 2026-01-01, the beginning of an hour

TEMPERATURE = gauge("gpu_temperature_celsius", "celsius", "Core temperature.", ("gpu",), scale=10)
READ = counter("disk_read_bytes_total", "bytes", "Bytes read.", ("device",))
STATE = state("gpu_throttle_state", "Why the clock is low.", ("none", "power", "heat"), ("gpu",))


def small_layout(gpus: int = 2) -> KnownLayout:
    """Return a layout with a temperature and a state for each GPU, and one disk."""
    names = [f"GPU-{index}" for index in range(gpus)]
    columns = [Column(metric, (name,)) for name in names for metric in (TEMPERATURE, STATE)]
    return KnownLayout(Layout((*columns, Column(READ, ("sda",)))))


def rows(
    layout: KnownLayout,
    sequences: Sequence[int],
    *,
    epoch_start_ns: int = START_NS,
    interval_ns: int = SECOND_NS,
    values: NDArray[np.int64] | None = None,
    valid: NDArray[np.bool_] | None = None,
    extras: dict[int, bytes] | None = None,
) -> RowGroup:
    """Return rows with the given sequences. Values are made from sequence and column unless `values` are given."""
    numbers = np.array(sequences, dtype=np.int64)
    times = epoch_start_ns + numbers * interval_ns
    shape = (len(numbers), layout.count)
    return RowGroup(
        layout=layout.digest,
        sequences=numbers,
        agent_ns=times - 1_000,
        boot_ns=times - START_NS + 77 * SECOND_NS,
        corrected_ns=times,
        received_ns=times + 2_000_000,
        unavailable=np.zeros(len(numbers), dtype=np.uint64),
        tenancy=np.zeros(len(numbers), dtype=np.uint64),
        values=numbers[:, None] * 10 + np.arange(layout.count) if values is None else values,
        valid=np.ones(shape, dtype=np.bool_) if valid is None else valid,
        extras=extras or {},
    )


def small_block(
    host: str = "a",
    number: int = 0,
    *,
    epoch: bytes = b"e" * 16,
    ticks: int = 60,
    present: Sequence[int] | None = None,
    lost: Sequence[tuple[int, int]] = (),
    refused: Sequence[tuple[int, int]] = (),
    layout: KnownLayout | None = None,
    epoch_start_ns: int = START_NS,
    received_ns: int | None = None,
) -> Block:
    """Return a block with the given sequences, or with all of them."""
    layout = layout or small_layout()
    sequences = range(number * ticks, (number + 1) * ticks) if present is None else present
    groups = [rows(layout, sequences, epoch_start_ns=epoch_start_ns)] if sequences else []
    newest = epoch_start_ns + ((number + 1) * ticks) * SECOND_NS if received_ns is None else received_ns
    key = BlockKey(host, epoch, number)
    return build_block(key, ticks, groups, RangeSet(lost), RangeSet(refused), newest, {layout.digest: layout})
