"""Scenarios of the stand-in GPU, read by the real probe, through the whole diagnosis."""

from pathlib import Path

import pytest

from flyball_agent.accelerators.nvidia import NvidiaProbe
from flyball_agent.accelerators.nvml import Nvml
from flyball_agent.standin.cards import GIB
from flyball_agent.standin.library import StandIn
from flyball_agent.standin.scenario import Scenario, ramp
from flyball_agent.standin.scenarios import make_scenario
from flyball_collector.diagnosis.event import Event, State
from flyball_collector.engine.player import Player, RecordedSample, recording
from flyball_proto.metric import Kind

GPUS = 2
OURS = ("memory_exhaustion", "memory_leak", "thermal_slowdown", "stuck_telemetry")


def play(directory: Path, scenario: str | Scenario, seconds: int) -> list[tuple[float, Event]]:
    """Play a scenario; return the events of the forecasts with the seconds since its start."""
    base = make_scenario(scenario, GPUS) if isinstance(scenario, str) else scenario
    standin = StandIn(directory, base)
    clock = [0.0]
    probe = NvidiaProbe(Nvml(str(standin.library)), directory / "sys", monotonic=lambda: clock[0], wall_ns=lambda: 1)
    samples, counters = [], set()
    for second in range(seconds):
        clock[0] = float(second)
        standin.play(Scenario(gpus=base.gpus, lines=[*base.lines, f"now {second}"]))
        sample = probe.read()
        readings = {}
        for column, value in zip(sample.columns, sample.values, strict=True):
            if value is not None:
                readings[column.metric.name, column.label_pairs()] = float(value)
            if column.metric.kind is Kind.COUNTER:
                counters.add(column.metric.name)
        samples.append(RecordedSample(1e9 + second, "node-1", readings))
    player = Player(recording(samples, counters))
    events = [event for _, together in player.play() for event in together]
    return [(event.time_ns / 1e9 - 1e9, event) for event in events if event.kind.name in OURS]


def raised(events: list[tuple[float, Event]]) -> dict[str, float]:
    """Return when each kind was first raised."""
    first: dict[str, float] = {}
    for time, event in events:
        if event.state is State.RAISED:
            first.setdefault(event.kind.name, time)
    return first


@pytest.mark.parametrize("story", ["steady", "starved", "straggler"])
def test_nothing_is_forecast_without_a_failure(story: str, tmp_path: Path) -> None:
    """Training, waiting for data and a low clock are not reported, but a slowdown by heat is."""
    expected = {"thermal_slowdown"} if story == "straggler" else set()
    assert set(raised(play(tmp_path, story, 240))) == expected


def test_a_failing_cooler(tmp_path: Path) -> None:
    """The last GPU warms for four minutes. This is reported a minute before its driver throttles it at 258 s."""
    events = play(tmp_path, "hot", 300)
    assert raised(events)["thermal_slowdown"] < 198
    forecast = next(event for _, event in events if event.kind.name == "thermal_slowdown")
    assert 60 < (forecast.seconds_left or 0) < 180
    assert "below its limit and warming; it will be throttled" in forecast.because
    gpus = {event.subject.gpu for _, event in events}
    assert len(gpus) == 1


@pytest.fixture(scope="module")
def leak(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[float, Event]]:
    """Play a GPU whose memory grows until it is full after 250 s, and then stays full."""
    return play(tmp_path_factory.mktemp("leak"), "leak", 400)


def test_memory_that_runs_out(leak: list[tuple[float, Event]]) -> None:
    """The first GPU's memory grows until it is full after 250 s. This is reported half a minute before."""
    assert raised(leak)["memory_exhaustion"] < 225


def test_full_memory_is_reported_as_full(leak: list[tuple[float, Event]]) -> None:
    """The forecast has come true: the text reports it, and no time is left."""
    events = [event for _, event in leak if event.kind.name == "memory_exhaustion"]
    assert [event.state for event in events] == [State.RAISED, State.CHANGED, State.CHANGED]
    assert "used: memory is full" in events[-1].because
    assert events[-1].seconds_left == 0


def test_a_neighbour_that_uses_up_memory(tmp_path: Path) -> None:
    """Memory that another user's process takes is lost to the run as well."""
    scenario = make_scenario("steady", GPUS)
    scenario.set({"memory_used": ramp(61 * GIB, 81559 * 1024**2, 60, 360)}, 0)
    scenario.process(0, 4242, ramp(0, 18 * GIB, 60, 360), utilization=3)
    assert raised(play(tmp_path, scenario, 360))["memory_exhaustion"] < 360


def test_frozen_telemetry(tmp_path: Path) -> None:
    """The energy counter of one GPU stops while it reports hundreds of watts."""
    scenario = make_scenario("steady", GPUS)
    scenario.set({"energy": ramp(0, 610_000.0 * 60, 0, 60)}, 1)
    first = raised(play(tmp_path, scenario, 150))
    assert 60 < first["stuck_telemetry"] <= 100
