"""Long work on the event loop: into how many slices it is divided."""

import asyncio
from collections.abc import Iterator

from flyball_collector.ingest.time_slices import SLICE_SECONDS, run_in_slices
from flyball_collector.testing import FakeClock


def parts(clock: FakeClock, count: int, each_seconds: float, done: list[int]) -> Iterator[None]:
    """Do work of `count` parts that take `each_seconds` each."""
    for number in range(count):
        clock.advance(each_seconds)
        done.append(number)
        yield


async def slices_of(count: int, each_seconds: float) -> tuple[int, list[int]]:
    """Return the number of iterations of the loop beside another task, and the parts that were done."""
    clock, slices, done = FakeClock(), 0, list[int]()
    work = asyncio.create_task(run_in_slices(parts(clock, count, each_seconds, done), clock))
    while not work.done():
        await asyncio.sleep(0)
        slices += 1
    return slices, done


async def test_short_work_takes_one_slice() -> None:
    """The number of its parts does not matter."""
    slices, done = await slices_of(100, SLICE_SECONDS / 1000)
    assert done == list(range(100))
    assert slices == 1


async def test_long_work_yields() -> None:
    """It yields after each slice until it is done."""
    slices, done = await slices_of(40, SLICE_SECONDS / 4)
    assert done == list(range(40))
    assert slices >= 9
