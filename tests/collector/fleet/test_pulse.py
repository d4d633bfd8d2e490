import asyncio
import time
from collections.abc import Iterator

import numpy as np
import pytest

from flyball_collector.fleet.fleet import Fleet
from flyball_collector.fleet.pulse import FleetPulse
from flyball_collector.fleet.window import Window
from flyball_collector.own_metrics import OwnMetrics
from flyball_collector.tick import KnownLayout, Tick
from flyball_proto.layout import Column, Layout
from flyball_proto.metric import gauge
from flyball_proto.unavailable_reading import Reason, UnavailableReading

LAYOUT = KnownLayout(Layout((Column(gauge("watts", "watts", "Draw.")),)))


def fleet_of_two(now_ns: int) -> Fleet:
    """A host that speaks and one that has fallen silent."""
    fleet = Fleet(window=Window(("watts",)))
    for name, at in (("fresh", now_ns), ("gone", now_ns - 16 * 10**9)):
        values = np.array([5], dtype=np.int64)
        fleet.apply(Tick(name, bytes(16), 0, LAYOUT, values, None, at, at, at, at, 0, 0, b"", True))
    fleet.ensure("fresh").unavailable = (
        UnavailableReading("gpu", "", "", Reason.ABSENT),
        UnavailableReading("power", "", "", Reason.DENIED),
    )
    return fleet


def test_a_beat_writes_a_line_and_counts() -> None:
    """The window has a line, and the collector's own metrics say how many hosts, how many up, and what is absent."""
    now_ns = 1_700_000_000 * 10**9
    fleet, metrics = fleet_of_two(now_ns), OwnMetrics()
    FleetPulse(fleet, metrics).beat(now_ns)
    assert fleet.window.recent("fresh", "watts")[2].tolist() == [[5]]
    say = metrics.registry.get_sample_value
    assert (say("flyball_collector_hosts"), say("flyball_collector_hosts_up")) == (2, 1)
    assert say("flyball_collector_absences", {"reason": "denied"}) == 1
    assert say("flyball_collector_absences", {"reason": "failed"}) == 0
    assert say("flyball_collector_window_rows") == 2


async def test_the_diagnosis_rests_while_the_collector_is_behind() -> None:
    """It looks at every fifth second then, at what is urgent in each, and at all of each as soon as nothing more is to
    be caught up with."""
    start_ns, behind = 1_700_000_000 * 10**9, True
    looked: list[int] = []
    in_hurry: list[int] = []

    def diagnose(now_ns: int, hurried: bool) -> Iterator[None]:
        (in_hurry if hurried else looked).append((now_ns - start_ns) // 10**9)
        yield

    pulse = FleetPulse(Fleet(), OwnMetrics(), diagnose=diagnose, behind=lambda: behind)
    for second in range(15):
        behind = second < 12
        await pulse.look(start_ns + second * 10**9)
    assert looked == [0, 5, 10, 12, 13, 14]
    assert in_hurry == [1, 2, 3, 4, 6, 7, 8, 9, 11]


async def test_it_beats_on_the_second() -> None:
    """It beats once for each second that begins."""
    fleet = fleet_of_two(time.time_ns())
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(1.2):
            await FleetPulse(fleet, OwnMetrics()).run()
    assert len(fleet.window.recent("fresh", "watts")[0]) in {1, 2}
