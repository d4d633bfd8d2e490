"""An HTTP service that is slow, and a way to it that is long: the agent separates them."""

import asyncio
import threading
from collections.abc import Callable

import pytest

from flyball_agent.probes.latency import build_trip
from flyball_agent.probes.round_trip import RoundTrip, parse_target
from tests.benchmarks.labelled.surroundings import Surroundings, Weather
from tests.benchmarks.labelled.wire import enter_namespace

DELAY = 0.06


def in_namespace(work: Callable[[], None]) -> None:
    """Run in a thread with a network of its own; skip where this machine has none."""
    outcome: list[BaseException | None] = []

    def run() -> None:
        try:
            if not enter_namespace():
                pytest.skip("network namespaces need root")
            work()
            outcome.append(None)
        except BaseException as error:  # noqa: BLE001  raised again in the test's own thread
            outcome.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join(60)
    assert outcome, "it does not end"
    if outcome[0] is not None:
        raise outcome[0]


async def measured(weather: Weather, times: int = 5) -> RoundTrip:
    """Return the quickest of some round trips to a real service over a real way in this weather."""
    surroundings = Surroundings()
    ports = await surroundings.start(packets=True)
    try:
        if not ports.has_packets:
            pytest.skip("this kernel has no TUN devices")
        surroundings.become(weather)
        trip = build_trip(parse_target(f"http://{ports.host}:{ports.service}/health"), 10)
        found = [await asyncio.to_thread(trip.measure) for _ in range(times)]
    finally:
        await surroundings.stop()
    assert all(each.answer_seconds is not None and each.connect_seconds is not None for each in found)
    return min(found, key=lambda each: each.total_seconds)


def test_a_slow_service_answers_late_and_connects_at_once() -> None:
    """Its work is in the answer alone."""

    def work() -> None:
        slow = asyncio.run(measured(Weather(health_seconds=DELAY)))
        assert slow.connect_seconds is not None
        assert slow.answer_seconds is not None
        assert slow.connect_seconds < DELAY / 2
        assert slow.answer_seconds >= DELAY

    in_namespace(work)


def test_a_long_way_delays_connecting_and_answering() -> None:
    """Both take one round trip, so the answer beyond it is short."""

    def work() -> None:
        far = asyncio.run(measured(Weather(network_seconds=DELAY)))
        assert far.connect_seconds is not None
        assert far.answer_seconds is not None
        assert min(far.connect_seconds, far.answer_seconds) >= DELAY
        assert far.answer_seconds - far.connect_seconds < DELAY / 2

    in_namespace(work)
