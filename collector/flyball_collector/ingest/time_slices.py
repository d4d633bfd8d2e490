"""Runs long work in slices, so that the event loop stays responsive."""

import asyncio
from collections.abc import Iterable

from flyball_collector.ingest.clock import Clock

SLICE_SECONDS = 0.01
"""The time between two yields. When a fleet returns, one iteration of the loop reads a hundred connections. Work that
yielded after each part, of less than a millisecond, would then take minutes."""


async def run_in_slices(parts: Iterable[None], clock: Clock) -> None:
    """Run all parts and yield to the event loop after each slice. Cancelling the task ends it there."""
    due = clock.monotonic() + SLICE_SECONDS
    for _ in parts:
        if clock.monotonic() >= due:
            await asyncio.sleep(0)
            due = clock.monotonic() + SLICE_SECONDS
