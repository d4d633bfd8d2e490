"""Tests of the runner: a probe that fails or hangs does not affect the others."""

import threading
import time
from collections.abc import Iterator

import pytest

from flyball_agent.probes.probe import Absent, ProbeSample
from flyball_agent.runner import NANOSECONDS, RETRY_SECONDS, Runner
from flyball_agent.testing import FakeProbe
from flyball_proto.unavailable_reading import Reason


@pytest.fixture
def hanging() -> Iterator[FakeProbe]:
    """Yield a probe that hangs until its gate opens."""
    probe = FakeProbe("hanging", (1.0,), blocking=True)
    yield probe
    probe.gate.set()


def test_after_a_failure_the_columns_stay() -> None:
    """After an exception the values are unknown with a reason, the layout is unchanged, and other probes are read."""
    broken, sound = FakeProbe("broken", (1.0, 2.0)), FakeProbe("sound", (3.0,))
    runner = Runner([broken, sound], 0.5)
    columns = runner.run(0)[0].columns
    broken.error = RuntimeError("wires crossed")
    slots = runner.run(NANOSECONDS)
    assert slots[0].columns is columns
    assert list(slots[0].values) == [None, None]
    assert slots[0].unavailable[0].reason is Reason.FAILED
    assert "wires crossed" in slots[0].unavailable[0].detail
    assert list(slots[1].values) == [3.0]


def test_a_probe_that_fails_at_first_has_no_columns() -> None:
    """If a probe has never returned a sample, there is only a reason."""
    probe = FakeProbe()
    probe.error = Absent("no such card", "insert one")
    slot = Runner([probe], 0.5).run(0)[0]
    assert slot.columns == ()
    assert (slot.unavailable[0].reason, slot.unavailable[0].remedy) == (Reason.ABSENT, "insert one")


def test_an_absent_device_is_retried_at_intervals() -> None:
    """An absent device is read less often than at each tick, and is found when it returns."""
    probe = FakeProbe()
    probe.error = Absent("unplugged")
    runner = Runner([probe], 0.5)
    for second in range(4):
        runner.run(second * NANOSECONDS)
    assert probe.reads == 1
    probe.error = None
    slots = runner.run(round(RETRY_SECONDS) * NANOSECONDS)
    assert (list(slots[0].values), slots[0].unavailable) == ([0.5], ())


def test_numbers_in_a_failure_do_not_make_new_unavailable_readings() -> None:
    """A failure whose detail varies keeps the first detail, so that digests repeat."""
    probe = FakeProbe()
    runner = Runner([probe], 0.5)
    probe.error = RuntimeError("at 0x7f01")
    first = runner.run(0)[0].unavailable
    probe.error = RuntimeError("at 0x7f02")
    assert runner.run(NANOSECONDS)[0].unavailable is first


def test_a_wrong_number_of_values_is_a_failure() -> None:
    """A probe that returns a wrong number of values does not shift the columns of others."""
    probe = FakeProbe("wrong", (1.0,))
    runner = Runner([probe], 0.5)
    runner.run(0)
    wrong = ProbeSample(runner.slots[0].columns, (1, 2))
    probe.read = lambda: wrong  # type: ignore[method-assign]  # a probe with a defect
    slot = runner.run(NANOSECONDS)[0]
    assert list(slot.values) == [None]
    assert "2 values for 1 columns" in slot.unavailable[0].detail


def test_a_hanging_probe_does_not_delay_the_record(hanging: FakeProbe) -> None:
    """Other probes are read in time; the hanging one is unavailable and is read again only after it returns."""
    sound = FakeProbe("sound", (3.0,))
    runner = Runner([hanging, sound], 0.05)
    columns = runner.run(0)[0].columns
    hanging.gate.clear()
    slots = runner.run(NANOSECONDS)  # the probe hangs until the gate opens
    assert slots[0].columns is columns
    assert slots[0].unavailable[0].reason is Reason.TIMED_OUT
    assert list(slots[1].values) == [3.0]
    reads = hanging.reads
    for second in range(2, 6):
        runner.run(second * NANOSECONDS)
    assert (hanging.reads, runner.stuck) == (reads, ["hanging"])
    hanging.gate.set()
    deadline = time.monotonic() + 60
    while runner.stuck and time.monotonic() < deadline:
        runner.run(10 * NANOSECONDS)
    assert list(runner.slots[0].values) == [1.0]
    assert runner.slots[0].unavailable == ()


def test_ticks_after_the_first_do_not_wait_for_a_hanging_probe(hanging: FakeProbe) -> None:
    """A tick waits for the time limit once, not each second."""
    hanging.gate.clear()
    runner = Runner([hanging], 0.2)
    runner.run(0)
    started = time.monotonic()
    for second in range(1, 20):
        runner.run(second * NANOSECONDS)
    assert time.monotonic() - started < 19 * 0.2 / 2


def test_slow_probes_run_in_parallel() -> None:
    """Several slow probes take no longer than the slowest of them."""
    gate = threading.Event()
    slow = [FakeProbe(f"slow{number}", (1.0,), blocking=True) for number in range(4)]
    for probe in slow:
        probe.gate = gate
    gate.clear()
    threading.Timer(0.15, gate.set).start()
    runner = Runner(slow, 5.0, 10.0)
    slots = runner.run(0)
    assert [list(slot.values) for slot in slots] == [[1.0]] * 4
    assert runner.stuck == []
    runner.stop()


def test_a_slow_probe_repeats_its_last_sample() -> None:
    """`every_seconds` is kept although ticks are not exact; in between, the last values are repeated."""
    probe = FakeProbe("slow", (1.0,), every_seconds=3)
    runner = Runner([probe], 0.5)
    for tenth in (0, 10, 20, 29, 40, 50, 61):
        runner.run(tenth * NANOSECONDS // 10)
    assert probe.reads == 3
    assert list(runner.slots[0].values) == [1.0]


def test_threads_end_when_the_runner_stops() -> None:
    """The thread of an idle probe ends at once."""
    runner = Runner([FakeProbe("worker", blocking=True)], 0.5)
    runner.run(0)
    runner.stop()
    thread = next((t for t in threading.enumerate() if t.name == "probe-worker"), None)
    if thread is not None:
        thread.join(60)
        assert not thread.is_alive()
