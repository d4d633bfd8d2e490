"""The engine runs all detectors, and none can stop the others."""

import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from flyball_collector.diagnosis.claims import Claims
from flyball_collector.diagnosis.detector import Detector
from flyball_collector.diagnosis.event import Event
from flyball_collector.diagnosis.kinds import BY_NAME, EventKind
from flyball_collector.diagnosis.scores.signal_list import SIGNALS
from flyball_collector.diagnosis.view import View
from flyball_collector.engine.engine import YIELD_AFTER_SECONDS, Diagnosis, build_detectors
from flyball_collector.engine.player import EPOCH, Key, Player, RecordedSample, Recording, recording
from flyball_collector.engine.settings import DiagnosisSettings
from flyball_collector.engine.start_up import StartUp
from flyball_collector.engine.testing.hosts import SimulatedFleet
from flyball_collector.engine.testing.runs import step
from flyball_collector.fleet.fleet import Fleet
from flyball_collector.tick import KnownLayout, Tick
from flyball_proto.layout import Column, Layout
from flyball_proto.metric import Kind, Metric


class Broken:
    """Fails each time it runs."""

    name = "broken"
    kinds: Sequence[EventKind] = ()
    needs: Sequence[str] = ()

    def observe(self, view: View) -> Iterable[Claims]:
        raise ZeroDivisionError(f"at {view.now}")


class Busy:
    """Claims an OOM kill on each host with a busy CPU."""

    name = "busy"
    kinds = (BY_NAME["oom_kill"],)
    needs: Sequence[str] = ("cpu_busy_ratio",)

    def observe(self, view: View) -> Iterable[Claims]:
        busy = view.host("cpu_busy_ratio") > 0.9
        yield Claims(
            kind=self.kinds[0], subjects=view.hosts, enters=busy, stays=busy, confidence=np.ones(len(view.hosts))
        )


class Thorough:
    """Takes its time and then makes two claims that raise nothing."""

    kinds = (BY_NAME["oom_kill"],)
    needs: Sequence[str] = ()

    def __init__(self, name: str, seconds: float) -> None:
        self.name = name
        self._seconds = seconds

    def observe(self, view: View) -> Iterable[Claims]:
        nothing = np.zeros(len(view.hosts), dtype=bool)
        for _ in range(2):
            begun = time.thread_time()
            while time.thread_time() - begun < self._seconds:
                pass
            yield Claims(
                kind=self.kinds[0],
                subjects=view.hosts,
                enters=nothing,
                stays=nothing,
                confidence=np.ones(len(view.hosts)),
            )


SAMPLES = [RecordedSample(n, "a", {("cpu_busy_ratio", ()): 1.0}) for n in range(3)]


def events_of(detectors: list[Detector], *, holds: bool = False) -> list[str]:
    player = Player(recording(SAMPLES))
    start_up = StartUp(windows_warm=not holds, conditions_loaded=not holds)
    player.diagnosis = Diagnosis(player.fleet, DiagnosisSettings(), detectors, start_up=start_up)
    return [event.kind.name for _, events in player.play() for event in events]


def test_a_detector_that_fails_stops_no_other() -> None:
    """The others' events are reported, and the failures are counted."""
    assert events_of([Broken(), Busy()]) == ["oom_kill"]


def test_nothing_is_raised_while_the_diagnosis_holds() -> None:
    """Until the windows are loaded, detectors run but nothing is reported."""
    assert events_of([Busy()], holds=True) == []


def yields(seconds: float) -> int:
    """Return how often the diagnosis yields if three detectors take this long for each claim."""
    player = Player(recording(SAMPLES))
    for _ in player.play():
        pass
    detectors = [Thorough(name, seconds) for name in ("first", "second", "third")]
    diagnosis = Diagnosis(player.fleet, DiagnosisSettings(), detectors, events_only=True)
    return sum(1 for _ in diagnosis.slices((EPOCH + len(SAMPLES)) * 10**9, lambda _: None))


def test_the_event_loop_can_run_during_a_long_second() -> None:
    """The diagnosis yields after each claim that took long, not after fast ones."""
    assert yields(YIELD_AFTER_SECONDS) >= 6
    assert yields(YIELD_AFTER_SECONDS) - yields(0.0) >= 4


class Starting(Diagnosis):
    """A diagnosis after a start: until windows are warm, it runs fully every fifth second, otherwise only urgently."""

    def __init__(self, fleet: Fleet, *, warm_from: int, loaded_from: int) -> None:
        self.start_up = StartUp.cold()
        self.warm_from, self.loaded_from = warm_from, loaded_from
        super().__init__(fleet, DiagnosisSettings(), events_only=True, start_up=self.start_up)

    def step(self, now_ns: int) -> list[Event]:
        second = now_ns // 10**9 - EPOCH
        state = self.start_up
        state.windows_warm, state.conditions_loaded = second >= self.warm_from, second >= self.loaded_from
        events: list[Event] = []
        for _ in (self.urgent_slices if not state.windows_warm and second % 5 else self.slices)(now_ns, events.extend):
            pass
        return events


def filling(*, warm_from: int, loaded_from: int = 0) -> list[tuple[int, str, str]]:
    """Return the events of memory that fills from the 20th to the 30th second, with the seconds since then."""
    samples = [
        RecordedSample(n, "a", {("memory_used_ratio", ()): min(1.0, 0.5 + 0.05 * max(0, n - 20))}) for n in range(40)
    ]
    player = Player(recording(samples))
    player.diagnosis = Starting(player.fleet, warm_from=warm_from, loaded_from=loaded_from)
    events = [event for _, events in player.play() for event in events]
    return [(event.time_ns // 10**9 - EPOCH - 20, event.kind.name, event.state.value) for event in events]


def test_memory_is_reported_in_time_while_the_collector_catches_up() -> None:
    """Cold windows and skipped seconds do not delay it."""
    found = filling(warm_from=40)
    assert found[0][1:] == ("memory_exhaustion", "raised")
    assert found[0][0] <= 10
    assert filling(warm_from=0)[0] == found[0]


def test_other_conditions_wait_for_warm_windows() -> None:
    """This is so although the restored conditions are known."""
    player = Player(recording(SAMPLES))
    start_up = StartUp(windows_warm=False, conditions_loaded=True)
    player.diagnosis = Diagnosis(player.fleet, DiagnosisSettings(), [Busy()], start_up=start_up)
    assert [event for _, events in player.play() for event in events] == []


def test_nothing_is_reported_before_conditions_are_restored() -> None:
    """Not even urgent conditions, because they may be active already."""
    assert filling(warm_from=40, loaded_from=40) == []


def test_a_detector_runs_once_a_host_has_its_metric() -> None:
    """Before, it has no input; afterwards it runs even if no host has the metric any more."""
    idle = [RecordedSample(n, "a", {("memory_used_ratio", ()): 0.3}) for n in range(3)]
    player = Player(recording([*idle, *(RecordedSample(3 + n, "b", {("cpu_busy_ratio", ()): 1.0}) for n in range(3))]))
    player.diagnosis = Diagnosis(player.fleet, DiagnosisSettings(), [Busy(), Broken()])
    ran = [(set(player.diagnosis.seconds) - {"advice"}, len(events)) for _, events in player.play()]
    assert ran == [({"broken"}, 0)] * 3 + [({"broken", "busy"}, 1)] + [({"broken", "busy"}, 0)] * 2


class Filler(NamedTuple):
    """Columns added to a recording, all unknown, so that no detector or signal is skipped."""

    columns: tuple[Column, ...]

    def __call__(self, recorded: Recording) -> Recording:
        """Return the same recording with layouts that also have these columns."""
        layouts: dict[int, KnownLayout] = {}
        return replace(recorded, ticks=[self._wider(tick, layouts) for tick in recorded.ticks])

    def _wider(self, tick: Tick, layouts: dict[int, KnownLayout]) -> Tick:
        own = tick.layout
        names = {column.metric.name for column in own.layout.columns}
        added = [column for column in self.columns if column.metric.name not in names]
        wider = layouts.setdefault(own.digest, KnownLayout(Layout((*own.layout.columns, *added))))
        count = len(added)
        assert tick.valid is not None
        values, valid = np.append(tick.values, np.zeros(count, np.int64)), np.append(tick.valid, np.zeros(count, bool))
        return replace(tick, layout=wider, values=values, valid=valid)


def everything() -> Filler:
    """Return a column of each metric that a detector or signal needs."""
    needed = {metric for detector in build_detectors(DiagnosisSettings()) for metric in detector.needs}
    needed |= {metric for signal in SIGNALS for metric in signal.read.needs}
    kinds = {True: Kind.COUNTER, False: Kind.GAUGE}
    return Filler(
        tuple(
            Column(Metric(name, kinds[name.endswith("_total")], "", "Not known.", ("gpu",) * name.startswith("gpu_")),
                   ("0",) * name.startswith("gpu_"))
            for name in sorted(needed) if not name.startswith("any ")
        )
    )  # fmt: skip


def troubled(kinds: set[str], every: float, seed: int) -> list[RecordedSample]:
    """Return a host whose memory fills, CPU is busy, GPU becomes hot and idle, or steps slow down."""
    noise = np.random.default_rng(seed)
    gpu = (("gpu", "0"), ("index", "0"))
    samples = []
    for number in range(70):
        filled = max(0.0, number - 15) / 45
        readings: dict[Key, float] = {}
        steps = []
        if "memory" in kinds:
            readings["memory_used_ratio", ()] = min(0.3 + 0.7 * filled + noise.normal(0, 0.001), 1.0)
        if "cpu" in kinds:
            readings["cpu_busy_ratio", ()] = 0.9 + noise.normal(0, 0.02)
        if "gpu" in kinds:
            readings["gpu_utilization_ratio", gpu] = 0.97 if number < 50 else 0.5
            readings["gpu_power_watts", gpu] = 350 + noise.normal(0, 4)
            readings["gpu_power_limit_watts", gpu] = 400
            readings["gpu_temperature_celsius", gpu] = round(60 + 28 * filled)
        if "limit" in kinds:
            readings["gpu_slowdown_temperature_celsius", gpu] = 87
        if "steps" in kinds:
            steps = [step(0, number, 0.5 * (1 + (number > 40)) + noise.normal(0, 0.004), data_wait_seconds=0.2)]
        samples.append(RecordedSample(every * number, "a", readings, steps))
    return samples


def played(recorded: Recording) -> list[Event]:
    """Return the events of a recording."""
    return [event for _, events in Player(recorded).play() for event in events]


@settings(max_examples=4, deadline=None)
@given(
    kinds=st.sets(st.sampled_from(["memory", "cpu", "gpu", "limit", "steps"]), min_size=1),
    every=st.sampled_from([1.0, 10.0, 57.0]),
    seed=st.integers(0, 3),
)
def test_unknown_columns_change_nothing(kinds: set[str], every: float, seed: int) -> None:
    """A detector that is skipped for lack of metrics has nothing to report: the events are the same if all run."""
    recorded = recording(troubled(kinds, every, seed))
    assert played(recorded) == played(everything()(recorded))


class HotGpu:
    """Claims a lost GPU where a GPU is hot."""

    name = "hot_gpu"
    kinds = (BY_NAME["gpu_lost"],)
    needs: Sequence[str] = ()

    def observe(self, view: View) -> Iterable[Claims]:
        hot = view.gpu("gpu_temperature_celsius") > 90
        yield Claims(kind=self.kinds[0], subjects=view.gpus, enters=hot, stays=hot, confidence=np.ones(len(view.gpus)))


def test_conditions_get_gpu_numbers_and_hosts_of_runs_from_the_fleet() -> None:
    """An event has the number of its GPU, and a run is explained by problems of the hosts of its ranks."""
    simulated = SimulatedFleet(HotGpu())
    simulated.set("gpu_temperature_celsius", 95.0, gpu="GPU-3")
    simulated.report(step(0, 0, 1.0, run="r"))
    assert [event.gpu_index for event in simulated.step(3)] == [3]
    assert set(simulated.diagnosis.conditions.hosts_of_run("r")) == {"a"}
