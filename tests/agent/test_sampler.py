"""Tests of the sampler: one record near each multiple of the interval."""

import threading
import time
from collections.abc import Callable
from itertools import pairwise

import pytest

from flyball_agent.clock import KernelClock
from flyball_agent.probes.probe import ProbeSample
from flyball_agent.record import Definition, Extras, TickRecord
from flyball_agent.runner import Runner
from flyball_agent.sampler import Sampler
from flyball_agent.self_metrics import SelfMetrics, SelfProbe
from flyball_agent.spool.testing import an_epoch
from flyball_agent.testing import FakeHostClock, FakeProbe
from flyball_proto.layout import Layout
from flyball_proto.packing import unpack
from flyball_proto.unavailable_reading import parse_unavailable
from flyball_proto.v1 import telemetry_pb2 as pb


def make(
    probes: list[FakeProbe], ticks: list[TickRecord], clock: FakeHostClock | KernelClock, interval_ms: int = 1000
) -> Sampler:
    """Create a sampler that adds its records to a list."""
    epoch = an_epoch()
    self_metrics = SelfMetrics()
    return Sampler(
        epoch=type(epoch)(epoch.id, epoch.started_ns, epoch.boot_id, interval_ms),
        runner=Runner([*probes, SelfProbe(self_metrics)], 0.02, interval_ms / 1000),
        extras=lambda _wall_ns: Extras(events=[pb.HostEvent(kind="something")]),
        sinks=(ticks.append,),
        clock=clock,
        self_metrics=self_metrics,
    )


def definition(tick: TickRecord, kind: int) -> Definition:
    """Return the definition of a kind that a record needs."""
    return next(each for each in tick.definitions if each.kind == kind)


def test_a_record_contains_the_readings() -> None:
    """Layout, values, unavailable readings, times and extras can be decoded with the definitions."""
    ticks: list[TickRecord] = []
    clock = FakeHostClock()
    sampler = make([FakeProbe("a", (0.25, None))], ticks, clock)
    sampler.tick()
    record = pb.Record.FromString(ticks[0].record)
    layout = Layout.parse(definition(ticks[0], pb.Definition.LAYOUT).body)
    values = unpack(record.values, record.validity, [column.metric.scale for column in layout.columns])
    assert values[:2] == [0.25, None]
    assert record.layout == layout.digest
    assert (record.sequence, record.time_ns, record.boot_ns) == (0, clock.wall_ns(), clock.boot_ns())
    assert [event.kind for event in record.events] == ["something"]


def test_definitions_are_built_only_after_a_change() -> None:
    """An unchanged layout is the same object at each tick; a failing probe adds unavailable readings, not a layout."""
    ticks: list[TickRecord] = []
    probe = FakeProbe("a", (1.0,))
    sampler = make([probe], ticks, FakeHostClock())
    sampler.tick()
    sampler.tick()
    sampler.tick()
    assert ticks[1].definitions[0] is ticks[2].definitions[0]
    probe.error = RuntimeError("broken")
    sampler.tick()
    assert ticks[3].definitions[0] is ticks[2].definitions[0]
    (unavailable_reading,) = parse_unavailable(definition(ticks[3], pb.Definition.UNAVAILABLE).body)
    assert unavailable_reading.probe == "a"
    assert pb.Record.FromString(ticks[3].record).unavailable == definition(ticks[3], pb.Definition.UNAVAILABLE).digest


def test_a_probe_that_hangs_does_not_stop_the_ticks() -> None:
    """While a driver hangs, records continue at their interval, and stopping does not wait for it."""
    ticks: list[TickRecord] = []
    hanging = FakeProbe("hanging", blocking=True)
    hanging.gate.clear()
    sampler = make([hanging, FakeProbe("sound")], ticks, KernelClock(), interval_ms=100)
    sampler.start()
    deadline = time.monotonic() + 60
    while len(ticks) < 10 and time.monotonic() < deadline:
        time.sleep(0.01)
    assert sampler.stop(20)  # the gate is still closed
    hanging.gate.set()
    assert [tick.sequence for tick in ticks] == list(range(len(ticks)))
    assert len(ticks) >= 10


def _wait_for_ticks(ticks: list[TickRecord], count: int) -> None:
    deadline = time.monotonic() + 60
    while len(ticks) < count:
        assert time.monotonic() < deadline, f"{len(ticks)} ticks"
        time.sleep(0.01)


def _boots(ticks: list[TickRecord]) -> list[float]:
    """Return the boot times of ticks in milliseconds."""
    return [pb.Record.FromString(tick.record).boot_ns / 1e6 for tick in ticks]


def _rate(ticks: list[TickRecord]) -> float:
    """Return the ticks of each interval of 100 ms; a busy machine can only make them fewer."""
    boots = _boots(ticks)
    return (len(ticks) - 1) / ((boots[-1] - boots[0]) / 100)


class SteppingClock(KernelClock):
    """The kernel's clock, with a wall clock that can be set."""

    def __init__(self) -> None:
        self.offset_ns = 0

    def wall_ns(self) -> int:
        return super().wall_ns() + self.offset_ns


@pytest.mark.parametrize("hours", [-1, 1])
def test_ticks_continue_after_a_clock_jump(hours: int) -> None:
    """After the wall clock jumps by hours, ticks continue at the same rate, without a pause or a burst."""
    ticks: list[TickRecord] = []
    clock = SteppingClock()
    sampler = make([FakeProbe("a")], ticks, clock, interval_ms=100)
    sampler.start()
    _wait_for_ticks(ticks, 4)
    clock.offset_ns = hours * 3600 * 10**9 + 37_000_000
    _wait_for_ticks(ticks, 9)  # within seconds, not after an hour
    assert sampler.stop(20)
    assert _rate(ticks) <= 1.2
    walls = [pb.Record.FromString(tick.record).time_ns for tick in ticks]
    assert max(abs(later - earlier) for earlier, later in pairwise(walls)) > 3500 * 10**9


def test_missed_ticks_are_skipped_and_counted() -> None:
    """After a stall there is one late tick, not several, and the sequence has no gap."""
    ticks: list[TickRecord] = []
    slow = FakeProbe("slow")
    sampler = make([slow], ticks, KernelClock(), interval_ms=100)
    slow.read, read = stall_once(0.45, slow.read), slow.read  # type: ignore[method-assign]  # the probe stalls
    sampler.start()
    _wait_for_ticks(ticks, 6)
    assert sampler.stop(20)
    slow.read = read  # type: ignore[method-assign]
    boots = _boots(ticks)
    assert [tick.sequence for tick in ticks] == list(range(len(ticks)))
    assert max(later - earlier for earlier, later in pairwise(boots)) > 400
    assert len(ticks) <= 1 + (boots[-1] - boots[0]) / 100 - 2  # at least two of the missed ones were skipped


def stall_once(seconds: float, read: Callable[[], ProbeSample]) -> Callable[[], ProbeSample]:
    """Return a reading that takes long the third time."""
    calls = iter(range(10**6))

    def slow() -> ProbeSample:
        if next(calls) == 2:
            threading.Event().wait(seconds)
        return read()

    return slow
