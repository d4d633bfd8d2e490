"""Long work on the loop: in how many of its turns it is done."""

import asyncio
from collections.abc import Iterator

from flyball_collector.ingest.turns import TURN_SECONDS, by_turns
from flyball_collector.testing import FakeClock


def parts(clock: FakeClock, count: int, each_seconds: float, done: list[int]) -> Iterator[None]:
    """Work of so many parts, each of which takes its time."""
    for number in range(count):
        clock.advance(each_seconds)
        done.append(number)
        yield


async def turns_for(count: int, each_seconds: float) -> tuple[int, list[int]]:
    """In how many turns of the loop that is done beside another task, and what was."""
    clock, turns, done = FakeClock(), 0, list[int]()
    work = asyncio.create_task(by_turns(parts(clock, count, each_seconds, done), clock))
    while not work.done():
        await asyncio.sleep(0)
        turns += 1
    return turns, done


async def test_short_work_costs_one_turn() -> None:
    """However many parts it has: a turn may be long."""
    turns, done = await turns_for(100, TURN_SECONDS / 1000)
    assert done == list(range(100))
    assert turns == 1


async def test_long_work_gives_way() -> None:
    """After each of its turns, until it is done."""
    turns, done = await turns_for(40, TURN_SECONDS / 4)
    assert done == list(range(40))
    assert turns >= 9
