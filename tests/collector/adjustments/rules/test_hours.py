"""Whole hours of runs whose worlds react to the changes: few changes, the right ones, and none that alternate."""

import math
import random
from collections.abc import Sequence

import pytest

from flyball_collector.adjustments.adjustment import Value
from flyball_collector.adjustments.proposal import Proposal
from flyball_collector.adjustments.settings import AdjustmentsSettings
from flyball_collector.adjustments.situation.run_situation import RunSituation
from flyball_collector.adjustments.situation.warming_meter import WarmingMeter
from flyball_collector.advice.levers import SampleTime, batched, pooled, side_by_side
from flyball_collector.diagnosis.event import Event
from flyball_collector.diagnosis.kinds import Severity
from tests.collector.adjustments.rules.played_run import EVERY_SECONDS, PlayedRun, Values
from tests.collector.adjustments.rules.runs import GIB, NOW, SECOND, event, host, situation, value
from tests.collector.adjustments.rules.test_input import more_workers

LIMIT = 92.0  # °C


def number(found: Value) -> float:
    assert isinstance(found, int | float)
    return float(found)


def changes(made: Sequence[Proposal], name: str) -> list[Value]:
    return [one.to for one in made if one.name == name]


def forecast(active: bool, raised: float, left: float) -> tuple[Event, ...]:
    """Return a memory forecast as the diagnosis raises it."""
    severity = Severity.CRITICAL if left < 600 else Severity.WARNING
    found = event("memory_exhaustion", raised_ns=NOW + int(raised * SECOND), severity=severity, seconds_left=left)
    return (found,) if active else ()


class GrowingMemory:
    """A rank whose samples get longer for the whole hour, with a forecast ten minutes before its memory is full."""

    def __init__(self) -> None:
        self.raised: float | None = None
        self.fullest = 0.0

    def __call__(self, second: float, values: Values) -> RunSituation:
        """Return the facts. A forecast stays for two minutes after its reason has gone."""
        per_sample = 2.0 + 2.0 * second / 3600.0
        peak = 20.0 + number(values["micro_batch"]) * per_sample
        speed = number(values["micro_batch"]) * 2.0 / 3600.0
        self.fullest = max(self.fullest, peak)
        left = (80.0 - peak) / speed
        near = left < 600.0
        if near and self.raised is None:
            self.raised = second
        if not near and self.raised is not None and second - self.raised > 120.0:
            self.raised = None
        events = forecast(self.raised is not None, self.raised or 0.0, left)
        return situation(*events, peak_bytes=peak * GIB)


def test_a_memory_ramp_is_answered_before_memory_is_full() -> None:
    """The micro-batch is halved once, the memory never fills, and it does not grow again within the hour."""
    world = GrowingMemory()
    run = PlayedRun({"micro_batch": value("micro_batch", 16)}, world)
    made = run.play()
    assert changes(made, "micro_batch") == [8]
    assert world.fullest < 80.0


def test_a_small_kernel_and_a_small_memory_do_not_alternate() -> None:
    """If a larger micro-batch would be faster but once had to be left, it is not tried again in three hours."""
    world = GrowingMemory()

    def idle(second: float, values: Values) -> RunSituation:
        found = world(min(second, 3600.0), values)
        kinds = {"bottleneck_small_batch": (event("bottleneck_small_batch"),)}
        return situation(
            *(one for events in (*found.active.values(), *kinds.values()) for one in events),
            peak_bytes=found.peak_bytes, gpu_busy_share=0.5,
        )  # fmt: skip

    made = PlayedRun({"micro_batch": value("micro_batch", 16)}, idle).play(3 * 3600)
    assert changes(made, "micro_batch") == [8]


class HeatedGpu:
    """A GPU with a heat sink in a room whose temperature may change. Its clocks fall from the limit on."""

    def __init__(self, room: float, swing: float = 0.0, rise: float = 60.0, heat_sink: float = 60.0) -> None:
        self.room, self.swing, self.rise, self.heat_sink = room, swing, rise, heat_sink
        self.celsius = 60.0
        self.slowed_seconds = 0
        self._meter = WarmingMeter()
        self._throttle = 0.0
        self._changed = 0.0
        self._noise = random.Random(3)

    def __call__(self, second: float, values: Values) -> RunSituation:
        """Let five seconds pass, and return the facts, as a sensor of whole degrees shows them."""
        if number(values["throttle"]) != self._throttle:
            self._throttle, self._changed = number(values["throttle"]), second
        room = self.room + self.swing * math.sin(2 * math.pi * second / 1200.0)
        final = room + self.rise * (0.15 + 0.85 * (1.0 - self._throttle))
        for _ in range(EVERY_SECONDS):
            self.celsius += (final - self.celsius) / self.heat_sink
        slowed = self.celsius >= LIMIT
        self.slowed_seconds += EVERY_SECONDS * slowed
        celsius = round(self.celsius + self._noise.uniform(-0.5, 0.5))
        return situation(
            temperature_celsius=celsius, temperature_margin_celsius=LIMIT - celsius, slowed_by_heat=slowed,
            warming=self._meter.take("GPU-0", LIMIT - celsius, second, self._changed),
        )  # fmt: skip


@pytest.mark.parametrize("heat_sink", [40.0, 60.0, 120.0])
@pytest.mark.parametrize(("final", "room", "low", "high"), [
    (86.0, 30.0, 0.0, 0.0), (96.0, 25.0, 0.1, 0.2), (96.0, 40.0, 0.1, 0.3), (104.0, 35.0, 0.2, 0.5),
    (112.0, 30.0, 0.3, 0.5),
])  # fmt: skip
def test_a_hot_gpu_ends_at_a_throttle_that_holds(
    final: float, room: float, low: float, high: float, heat_sink: float
) -> None:
    """Whatever its heat sink, its clocks never fall, and the throttle settles after a few changes."""
    world = HeatedGpu(room, rise=final - room, heat_sink=heat_sink)
    run = PlayedRun({"throttle": value("throttle"), "pause": value("pause")}, world)
    made = run.play()
    assert world.slowed_seconds == 0
    assert low <= number(run.now["throttle"]) <= high
    assert len(made) <= 6
    assert changes(made, "pause") == []


def test_hot_and_cool_cycles_do_not_make_the_throttle_cycle() -> None:
    """In a room that changes by ±8 °C every 20 minutes, two hours need few changes."""
    world = HeatedGpu(33.0, swing=8.0)
    run = PlayedRun({"throttle": value("throttle"), "pause": value("pause")}, world)
    made = run.play(2 * 3600)
    assert len(made) <= 8
    assert world.slowed_seconds == 0


def test_a_broken_fan_leads_to_pauses_that_end() -> None:
    """If even the highest throttle cannot cool a GPU, the run pauses, and goes on when it is cool."""

    class BrokenFan(HeatedGpu):
        def __call__(self, second: float, values: Values) -> RunSituation:
            return super().__call__(second, {**values, "throttle": 0.95 if values["pause"] else values["throttle"]})

    world = BrokenFan(50.0, rise=105.0)
    run = PlayedRun({"throttle": value("throttle"), "pause": value("pause")}, world)
    made = run.play(1800)
    pauses = changes(made, "pause")
    assert changes(made, "throttle")[-1] == 0.7
    assert pauses[:2] == [True, False]
    assert pauses == [number % 2 == 0 for number in range(len(pauses))]
    assert len(pauses) <= 8


def sample_time(values: Values) -> float:
    """Return the seconds of a sample of a learner that needs a hundred items of a service."""
    time = SampleTime(fixed=0.8, carried=0.12, connecting=0.1, computing=0.004)
    few = batched(time, 100, 100 / number(values["calls_per_batch"]))
    warm = pooled(few, 0.1 if number(values["pool"]) > 4 else 1.0)
    served = min(number(values["workers"]), number(values["pool"]))
    return side_by_side(warm, served, cores=8.0, efficiency=0.9)


def service(_: float, values: Values) -> RunSituation:
    """Return the facts about that learner, all of whose time but computing passes in calls."""
    return situation(
        gpus=0, gpu_busy_share=None, service_share=0.97, hosts=(host(cores=8.0, gpus=0),),
        calls_per_sample=100.0 / number(values["calls_per_batch"]), step_seconds=sample_time(values),
    )  # fmt: skip


def service_learner(settings: AdjustmentsSettings | None = None) -> PlayedRun:
    values = {name: value(name) for name in ("calls_per_batch", "workers")}
    values["pool"] = value("pool", 1, choices=(1, 2, 4, 8))
    return PlayedRun(values, service, lambda now: 1.0 / sample_time(now), settings or AdjustmentsSettings())


def test_a_service_learner_finds_its_three_levers() -> None:
    """With few limits, each lever is used until it brings nothing more: five changes, and then none."""
    run = service_learner(AdjustmentsSettings(max_per_hour=60, cooldown_minutes=0.1))
    before = sample_time(run.now)
    made = run.play()
    assert [one.lever for one in made] == ["calls_per_batch", "pool", "workers", "pool", "workers"]
    assert before / sample_time(run.now) >= 15.0


def test_the_usual_limits_hold_in_the_same_hour() -> None:
    """With the default settings no more than three changes are made; they suffice for 15 times the speed."""
    run = service_learner()
    before = sample_time(run.now)
    assert [one.lever for one in run.play()] == ["calls_per_batch", "pool", "workers"]
    assert before / sample_time(run.now) >= 15.0


def test_workers_stop_where_they_bring_nothing() -> None:
    """Steps wait for a disk: four workers help, eight bring nothing, and no more are added in two hours."""

    def waiting(_: float, __: Values) -> RunSituation:
        room = host(cores=64.0)
        return situation(event("bottleneck_data_wait"), advice=(more_workers(16),), hosts=(room,))

    run = PlayedRun(
        {"loader_workers": value("loader_workers", 2)}, waiting, lambda now: min(number(now["loader_workers"]), 4.0)
    )
    assert changes(run.play(2 * 3600), "loader_workers") == [4, 8]


def test_memory_pressure_and_waiting_do_not_alternate() -> None:
    """Workers that had to be stopped for lack of memory are not added again as soon as the pressure is over."""

    def squeezed(second: float, values: Values) -> RunSituation:
        many = number(values["loader_workers"]) >= 8
        events = [event("bottleneck_data_wait")]
        events += [event("memory_pressure", raised_ns=NOW + int(second * SECOND))] if many else []
        return situation(*events, advice=(more_workers(16),))

    run = PlayedRun({"loader_workers": value("loader_workers", 8)}, squeezed)
    assert changes(run.play(2 * 3600), "loader_workers") == [4]


def test_harmless_noise_leads_to_no_change() -> None:
    """Conditions that flicker, and temperatures, loads and peaks that vary, change nothing in an hour."""
    noise = random.Random(7)
    levers = ("micro_batch", "explicit_reduction", "loader_workers", "throttle", "pause", "calls_per_batch", "workers")

    def noisy(_: float, __: Values) -> RunSituation:
        kinds = ("bottleneck_small_batch", "bottleneck_host", "bottleneck_data_wait")
        flicker = [event(kind) for kind in kinds if noise.random() < 0.2]
        return situation(
            *flicker, gpu_busy_share=noise.uniform(0.8, 1.0), peak_bytes=noise.uniform(30, 60) * GIB,
            temperature_celsius=noise.uniform(70, 80), temperature_margin_celsius=noise.uniform(4, 20),
            service_share=noise.uniform(0.0, 0.19), on_battery=noise.random() < 0.5,
        )  # fmt: skip

    assert PlayedRun({lever: value(lever) for lever in levers}, noisy).play() == []


def test_a_laptop_is_slowed_on_battery_and_freed_on_mains() -> None:
    """Twenty minutes on battery lead to one change and to its inverse; a loose plug to none."""

    def plugged(second: float, _: Values) -> RunSituation:
        loose = second > 2400 and second % 60 < 30
        return situation(on_battery=600 <= second < 1800 or loose)

    assert changes(PlayedRun({"throttle": value("throttle")}, plugged).play(), "throttle") == [0.3, 0]
