"""Forecasts that outlive their conditions: held for a minute, counted down, and true once the kernel has killed."""

from dataclasses import replace

from flyball_collector.diagnosis.event import Event, State
from flyball_collector.diagnosis.kinds import BY_NAME
from flyball_collector.diagnosis.subject import Subject
from flyball_collector.engine.recent_risks import HOLD_SECONDS, MAX_HELD, RecentRisks

START = 1_000_000.0
GROUP, HOST = Subject("a", resource="control group"), Subject("a", resource="host")
FULL = "memory_exhaustion"


def event(
    kind: str, subject: Subject, at: float, left: float | None = None, *, state: State = State.RAISED, low: float = 0.0
) -> Event:
    high = None if left is None else 2 * left
    return Event(
        condition="c", time_ns=round((START + at) * 1e9), state=state, kind=BY_NAME[kind], subject=subject,
        severity=BY_NAME[kind].severity, confidence=0.9, seconds_left=left, seconds_left_low=low,
        seconds_left_high=high, raised_ns=round((START + at) * 1e9),
    )  # fmt: skip


def cleared(raised: Event, at: float) -> Event:
    return replace(raised, state=State.CLEARED, time_ns=round((START + at) * 1e9), seconds_left=None)


def test_a_risk_that_came_and_went_between_two_scrapes_is_held() -> None:
    """Its forecast is counted down for a minute, but not to 0, because it has not come true. Then it is forgotten."""
    risks = RecentRisks()
    raised = event(FULL, GROUP, 0, 30.0, low=20.0)
    risks.on_events([raised])
    risks.on_events([cleared(raised, 5)])
    (held,) = risks.ended(START + 10)
    assert (held.left, held.low, held.high) == (20.0, 10.0, 50.0)
    assert held.at == START, "the forecast is as old as the event"
    (held,) = risks.ended(START + HOLD_SECONDS)
    assert (held.left, held.low, held.high) == (1.0, 1.0, 1.0)
    assert risks.ended(START + HOLD_SECONDS + 1) == []
    assert risks.of(FULL, GROUP, START + HOLD_SECONDS + 1) is None


def test_a_risk_that_is_active_is_not_listed_among_the_ended() -> None:
    """Its forecast can be asked for while it is held; a change of it does not hold it longer."""
    risks = RecentRisks()
    risks.on_events([event(FULL, GROUP, 0, 300.0)])
    assert risks.ended(START + 1) == []
    held = risks.of(FULL, GROUP, START + 1)
    assert held is not None
    assert held.left == 299.0
    risks.on_events([event(FULL, GROUP, 50, 20.0, state=State.CHANGED)])
    held = risks.of(FULL, GROUP, START + 55)
    assert held is not None
    assert held.left == 15.0
    assert risks.of(FULL, GROUP, START + 61) is None


def test_what_has_come_true_already_stays_0() -> None:
    """A slowdown that is there when the risk is raised has no time left, now and later."""
    risks = RecentRisks()
    risks.on_events([event("thermal_slowdown", Subject("a", "GPU-1"), 0, 0.0)])
    held = risks.of("thermal_slowdown", Subject("a", "GPU-1"), START + 10)
    assert held is not None
    assert (held.left, held.low, held.high) == (0.0, 0.0, 0.0)


def test_a_kill_makes_the_nearest_forecast_true() -> None:
    """Of two forecasts for a host, the one that was due first is 0 for a minute after the kill; others go on."""
    risks = RecentRisks()
    raised = event(FULL, GROUP, 0, 30.0)
    risks.on_events([raised, event(FULL, HOST, 0, 900.0)])
    risks.on_events([event(FULL, Subject("a", "GPU-1"), 0, 5.0), event(FULL, Subject("b"), 0, 9.0)])
    risks.on_events([event("oom_kill", Subject("a"), 20)])
    risks.on_events([cleared(raised, 21)])
    (held,) = risks.ended(START + 79)
    assert (held.event.subject, held.left, held.at) == (GROUP, 0.0, START + 20)
    of_host = risks.of(FULL, HOST, START + 21)
    assert of_host is not None
    assert of_host.left == 879.0


def test_a_kill_without_a_forecast_predicts_nothing_afterwards() -> None:
    """A kill that nothing foresaw is not a risk; the end of a kill changes nothing."""
    risks = RecentRisks()
    kill = event("oom_kill", Subject("a"), 0)
    risks.on_events([kill])
    assert risks.ended(START + 1) == []
    risks.on_events([event(FULL, GROUP, 2, 30.0)])
    risks.on_events([cleared(kill, 3)])
    held = risks.of(FULL, GROUP, START + 4)
    assert held is not None
    assert held.left == 28.0


def test_only_forecasts_are_held() -> None:
    """Risks without a time, and conditions of other groups, are not."""
    risks = RecentRisks()
    risks.on_events([event("memory_pressure", Subject("a"), 0), event("run_hang", Subject(run="r"), 0)])
    assert risks.of("memory_pressure", Subject("a"), START) is None
    assert risks.of("run_hang", Subject(run="r"), START) is None


def test_a_storm_is_bounded() -> None:
    """More risks than are remembered push out the oldest."""
    risks = RecentRisks()
    risks.on_events(event("disk_full", Subject("a", resource=f"/{n}"), 0, 30.0) for n in range(MAX_HELD + 1))
    assert risks.of("disk_full", Subject("a", resource="/0"), START) is None
    assert risks.of("disk_full", Subject("a", resource=f"/{MAX_HELD}"), START) is not None
