import asyncio
import gzip
import os
import signal
import subprocess

import numpy as np
import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse_openmetrics
from prometheus_client.parser import text_string_to_metric_families as parse_text

from flyball_collector.exporter.negotiation import ExpositionFormat
from flyball_collector.exporter.renderings import Renderings
from flyball_collector.fleet.fleet import Fleet
from flyball_collector.own_metrics import OwnMetrics
from flyball_collector.tick import KnownLayout, Tick
from flyball_proto.layout import Column, Layout
from flyball_proto.metric import gauge

SECOND = 10**9
LAYOUT = KnownLayout(Layout((Column(gauge("load", "tasks", "Load.")),)))


class Clock:
    """A clock that only the test moves."""

    def __init__(self) -> None:
        self.now_ns = 1_700_000_000 * SECOND

    def __call__(self) -> int:
        return self.now_ns


def apply(fleet: Fleet, clock: Clock, host: str, value: int) -> None:
    sequence = fleet.ensure(host).sequence + 1
    at = clock()
    values = np.array([value], dtype=np.int64)
    fleet.apply(Tick(host, bytes(16), sequence, LAYOUT, values, None, at, at, at, at, 0, 0, b"", True))


def promtool(page: str) -> tuple[int, bytes]:
    """Return the result of `promtool check metrics`."""
    checked = subprocess.run(["promtool", "check", "metrics"], input=page.encode(), capture_output=True, check=False)
    return checked.returncode, checked.stdout + checked.stderr


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def fleet(clock: Clock) -> Fleet:
    fleet = Fleet()
    apply(fleet, clock, "a", 3)
    return fleet


async def test_the_page_has_the_own_metrics_and_the_fleet(fleet: Fleet, clock: Clock) -> None:
    """Both formats parse, promtool accepts them, and no family is repeated."""
    own = OwnMetrics()
    own.refused.labels("too_old").inc()
    own.lag.observe(0.3)
    renderings = Renderings(fleet, own, clock=clock)
    text = (await renderings.of_fleet(ExpositionFormat.TEXT, gzip=False)).decode()
    openmetrics = (await renderings.of_fleet(ExpositionFormat.OPENMETRICS, gzip=False)).decode()
    assert "\n\n" not in text + openmetrics
    assert "_created" not in text + openmetrics
    names = [family.name for family in parse_text(text)]
    assert len(names) == len(set(names))
    assert {"flyball_collector_lag_seconds", "process_cpu_seconds", "flyball_load", "flyball_agent_up"} <= set(names)
    assert {family.name for family in parse_openmetrics(openmetrics)} == set(names)  # type: ignore[no-untyped-call]
    assert promtool(text) == (0, b"")


async def test_scrapes_of_one_second_share_a_rendering(fleet: Fleet, clock: Clock) -> None:
    """Ten simultaneous scrapes get the same bytes; a second later the page has new readings."""
    own = OwnMetrics()
    renderings = Renderings(fleet, own, clock=clock)
    pages = await asyncio.gather(*(renderings.of_fleet(ExpositionFormat.TEXT, gzip=False) for _ in range(10)))
    assert all(page is pages[0] for page in pages)
    apply(fleet, clock, "a", 4)
    clock.now_ns += SECOND - 1
    assert await renderings.of_fleet(ExpositionFormat.TEXT, gzip=False) is pages[0]
    clock.now_ns += 1
    assert b'flyball_load{instance="a"} 4.0' in await renderings.of_fleet(ExpositionFormat.TEXT, gzip=False)
    assert own.registry.get_sample_value("flyball_collector_scrapes_total", {"kind": "fleet"}) == 12
    assert own.registry.get_sample_value("flyball_collector_scrape_render_seconds_count") == 2
    assert own.registry.get_sample_value("flyball_collector_scrape_series") == 9


async def test_a_clock_that_stepped_back_does_not_freeze_the_page(fleet: Fleet, clock: Clock) -> None:
    """A rendering of the future is not shared."""
    renderings = Renderings(fleet, OwnMetrics(), clock=clock)
    await renderings.of_fleet(ExpositionFormat.TEXT, gzip=False)
    clock.now_ns -= 3600 * SECOND
    apply(fleet, clock, "a", 9)
    assert b'flyball_load{instance="a"} 9.0' in await renderings.of_fleet(ExpositionFormat.TEXT, gzip=False)


async def test_gzip_is_the_same_page(fleet: Fleet, clock: Clock) -> None:
    """Compressed and plain pages of one instant are equal, except for the collector's process metrics."""
    renderings = Renderings(fleet, OwnMetrics(), clock=clock)
    plain = (await renderings.of_fleet(ExpositionFormat.TEXT, gzip=False)).splitlines()
    packed = gzip.decompress(await renderings.of_fleet(ExpositionFormat.TEXT, gzip=True)).splitlines()
    fleet_only = [[line for line in page if line.startswith(b"flyball_load")] for page in (plain, packed)]
    assert fleet_only == [[b'flyball_load{instance="a"} 3.0']] * 2


async def test_the_page_of_one_host(fleet: Fleet, clock: Clock) -> None:
    """A target's page has only this host; an unknown one has no page."""
    renderings = Renderings(fleet, OwnMetrics(), clock=clock)
    body = renderings.of_host("a", ExpositionFormat.TEXT, gzip=True)
    assert body is not None
    page = gzip.decompress(body)
    assert b"\nflyball_load 3.0\n" in page
    assert b"flyball_collector" not in page
    assert renderings.of_host("b", ExpositionFormat.TEXT, gzip=True) is None


async def test_a_cancelled_scrape_does_not_affect_the_next(fleet: Fleet, clock: Clock) -> None:
    """A client that disconnects during the rendering does not affect later ones."""
    renderings = Renderings(fleet, OwnMetrics(), clock=clock)
    impatient = asyncio.create_task(renderings.of_fleet(ExpositionFormat.TEXT, gzip=True), name="impatient")
    await asyncio.sleep(0)
    impatient.cancel()
    with pytest.raises(asyncio.CancelledError):
        await impatient
    assert b"flyball_load" in await renderings.of_fleet(ExpositionFormat.TEXT, gzip=False)


async def test_a_large_fleet_is_rendered_by_a_process(fleet: Fleet, clock: Clock) -> None:
    """The page is the same; if the process is lost, a thread renders it, and that is counted."""
    own = OwnMetrics()
    renderings = Renderings(fleet, own, clock=clock, large_fleet=1)
    try:
        for lost in (0, 1, 1):
            page = await renderings.of_fleet(ExpositionFormat.TEXT, gzip=False)
            assert b'\nflyball_load{instance="a"} 3.0\n' in page
            assert own.registry.get_sample_value("flyball_collector_scrape_series") == 9
            assert own.registry.get_sample_value("flyball_collector_renderer_failures_total") == lost
            clock.now_ns += SECOND
            if not lost:
                os.kill(renderings.renderer_pid or pytest.fail("no process"), signal.SIGKILL)
    finally:
        renderings.close()
