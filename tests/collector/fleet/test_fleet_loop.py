import asyncio
import time
from collections.abc import Iterator

import numpy as np
import pytest

from flyball_collector.fleet.fleet import Fleet
from flyball_collector.fleet.fleet_loop import FleetLoop
from flyball_collector.fleet.window import Window
from flyball_collector.own_metrics import OwnMetrics
from flyball_collector.tick import KnownLayout, Tick
from flyball_proto.layout import Column, Layout
from flyball_proto.metric import gauge
from flyball_proto.unavailable_reading import Reason, UnavailableReading

LAYOUT = KnownLayout(Layout((Column(gauge("watts", "watts", "Draw.")),)))


def fleet_of_two(now_ns: int) -> Fleet:
    """Return a fleet with a host that reports and one that has stopped."""
    fleet = Fleet(window=Window(("watts",)))
    for name, at in (("fresh", now_ns), ("gone", now_ns - 16 * 10**9)):
        values = np.array([5], dtype=np.int64)
        fleet.apply(Tick(name, bytes(16), 0, LAYOUT, values, None, at, at, at, at, 0, 0, b"", True))
    fleet.ensure("fresh").unavailable = (
        UnavailableReading("gpu", "", "", Reason.ABSENT),
        UnavailableReading("power", "", "", Reason.DENIED),
    )
    return fleet


def test_each_second_writes_a_line_and_counts() -> None:
    """The window has a line, and the own metrics count the hosts, those that report, and unavailable readings."""
    now_ns = 1_700_000_000 * 10**9
    fleet, metrics = fleet_of_two(now_ns), OwnMetrics()
    FleetLoop(fleet, metrics).write_row(now_ns)
    assert fleet.window.recent("fresh", "watts")[2].tolist() == [[5]]
    sample_of = metrics.registry.get_sample_value
    assert (sample_of("flyball_collector_hosts"), sample_of("flyball_collector_hosts_up")) == (2, 1)
    assert sample_of("flyball_collector_absences", {"reason": "denied"}) == 1
    assert sample_of("flyball_collector_absences", {"reason": "failed"}) == 0
    assert sample_of("flyball_collector_window_rows") == 2


async def test_the_full_diagnosis_is_rarer_while_the_collector_catches_up() -> None:
    """It then runs every fifth second, with only urgent checks in between, and every second once that is over."""
    start_ns, catching_up = 1_700_000_000 * 10**9, True
    full: list[int] = []
    urgent: list[int] = []

    def diagnose(now_ns: int, urgent_only: bool) -> Iterator[None]:
        (urgent if urgent_only else full).append((now_ns - start_ns) // 10**9)
        yield

    loop = FleetLoop(Fleet(), OwnMetrics(), diagnose=diagnose, catching_up=lambda: catching_up)
    for second in range(15):
        catching_up = second < 12
        await loop.diagnose(start_ns + second * 10**9)
    assert full == [0, 5, 10, 12, 13, 14]
    assert urgent == [1, 2, 3, 4, 6, 7, 8, 9, 11]


async def test_it_runs_on_the_second() -> None:
    """It runs once for each second that begins."""
    fleet = fleet_of_two(time.time_ns())
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(1.2):
            await FleetLoop(fleet, OwnMetrics()).run()
    assert len(fleet.window.recent("fresh", "watts")[0]) in {1, 2}
