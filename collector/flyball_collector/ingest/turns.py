"""Long work on the event loop gives way to others after a while, not after each of its parts."""

import asyncio
from collections.abc import Iterable

from flyball_collector.ingest.clock import Clock

TURN_SECONDS = 0.01
"""A turn of the loop is long where a fleet returns: a hundred connections are read in it. Work that gave way after each
of its parts, of less than a millisecond, would take minutes then."""


async def by_turns(parts: Iterable[None], clock: Clock) -> None:
    """Do every part; whoever cancels the task ends it where it gives way."""
    due = clock.monotonic() + TURN_SECONDS
    for _ in parts:
        if clock.monotonic() >= due:
            await asyncio.sleep(0)
            due = clock.monotonic() + TURN_SECONDS
