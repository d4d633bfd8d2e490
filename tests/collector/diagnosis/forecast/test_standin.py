"""Stories of the stand-in GPU, read by the real probe, through the whole diagnosis: what is told, and when."""

from pathlib import Path

import pytest

from flyball_agent.accelerators.nvidia import NvidiaProbe
from flyball_agent.accelerators.nvml import Nvml
from flyball_agent.standin.cards import GIB
from flyball_agent.standin.library import StandIn
from flyball_agent.standin.scenario import Scenario, ramp
from flyball_agent.standin.scenarios import make_scenario
from flyball_collector.diagnosis.event import Event, State
from flyball_collector.engine.player import Player, Sample, recording
from flyball_proto.metric import Kind

GPUS = 2
OURS = ("memory_exhaustion", "memory_leak", "thermal_slowdown", "stuck_telemetry")


def told(directory: Path, scenario: str | Scenario, seconds: int) -> list[tuple[float, Event]]:
    """What the forecasts say of a story, with the seconds since its start."""
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
        samples.append(Sample(1e9 + second, "node-1", readings))
    player = Player(recording(samples, counters))
    events = [event for _, together in player.play() for event in together]
    return [(event.time_ns / 1e9 - 1e9, event) for event in events if event.kind.name in OURS]


def raised(events: list[tuple[float, Event]]) -> dict[str, float]:
    """When each kind was first raised."""
    first: dict[str, float] = {}
    for time, event in events:
        if event.state is State.RAISED:
            first.setdefault(event.kind.name, time)
    return first


@pytest.mark.parametrize("story", ["steady", "starved", "straggler"])
def test_nothing_is_forecast_where_nothing_breaks(story: str, tmp_path: Path) -> None:
    """Training, waiting for data, and a slow clock are no forecasts' business, but a slowdown by heat is told."""
    expected = {"thermal_slowdown"} if story == "straggler" else set()
    assert set(raised(told(tmp_path, story, 240))) == expected


def test_a_failing_cooler(tmp_path: Path) -> None:
    """The last GPU warms for four minutes: that is told a minute before its driver slows it down at 258 s."""
    events = told(tmp_path, "hot", 300)
    assert raised(events)["thermal_slowdown"] < 198
    foreseen = next(event for _, event in events if event.kind.name == "thermal_slowdown")
    assert 60 < (foreseen.seconds_left or 0) < 180
    assert "below its limit and warming: slowed down in" in foreseen.because
    gpus = {event.subject.gpu for _, event in events}
    assert len(gpus) == 1


def test_memory_that_runs_out(tmp_path: Path) -> None:
    """The first GPU's memory grows until there is none left after 250 s: that is told half a minute before."""
    first = raised(told(tmp_path, "leak", 260))
    assert first["memory_exhaustion"] < 225


def test_memory_that_is_full_is_told_to_be_full(tmp_path: Path) -> None:
    """What was foreseen has come true: the words say so, and no time is left."""
    events = [event for _, event in told(tmp_path, "leak", 400) if event.kind.name == "memory_exhaustion"]
    assert [event.state for event in events] == [State.RAISED, State.CHANGED]
    assert "used: it is full" in events[-1].because
    assert events[-1].seconds_left == 0


def test_a_neighbour_that_eats_memory(tmp_path: Path) -> None:
    """Memory that another user's process takes runs out for ours all the same."""
    scenario = make_scenario("steady", GPUS)
    scenario.set({"memory_used": ramp(61 * GIB, 81559 * 1024**2, 60, 360)}, 0)
    scenario.process(0, 4242, ramp(0, 18 * GIB, 60, 360), utilization=3)
    assert raised(told(tmp_path, scenario, 400))["memory_exhaustion"] < 360


def test_telemetry_that_stands_still(tmp_path: Path) -> None:
    """The energy counter of one GPU stops while it reports hundreds of watts."""
    scenario = make_scenario("steady", GPUS)
    scenario.set({"energy": ramp(0, 610_000.0 * 60, 0, 60)}, 1)
    first = raised(told(tmp_path, scenario, 150))
    assert 60 < first["stuck_telemetry"] <= 100
