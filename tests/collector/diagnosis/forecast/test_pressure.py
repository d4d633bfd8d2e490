"""Memory pressure as reported by the kernel."""

import numpy as np

from flyball_collector.diagnosis.conditions import Conditions
from flyball_collector.diagnosis.event import Event, State
from flyball_collector.diagnosis.forecast.pressure import MemoryPressure
from flyball_collector.diagnosis.forecast.settings import ForecastSettings
from flyball_collector.diagnosis.forecast.testing import ArrayView, Machines
from flyball_collector.diagnosis.kinds import Severity

METRIC = "pressure_seconds_total/memory"


def play(some: float, full: float, seconds: int = 60) -> list[Event]:
    """Play a minute of these stalls and then a quiet minute; return the events."""
    machines, detector, conditions = Machines(1), MemoryPressure(ForecastSettings()), Conditions()
    events: list[Event] = []
    for second in range(seconds + 90):
        on = float(second < seconds)
        host = {f"{METRIC}/some": np.array([some * on]), f"{METRIC}/full": np.array([full * on])}
        view = ArrayView(machines, 1.7e9 + second, host=host)
        events += conditions.apply(detector.observe(view), view.now_ns)
    return events


def test_pressure_is_reported_and_cleared() -> None:
    """If some task stalls for a fifth of the time, it is a warning until that ends."""
    events = play(0.2, 0.05)
    assert [(event.state, event.severity) for event in events] == [
        (State.RAISED, Severity.WARNING),
        (State.CLEARED, Severity.WARNING),
    ]


def test_pressure_at_which_systemd_kills_is_critical() -> None:
    """All tasks stall for most of the time: systemd-oomd would kill."""
    assert play(0.9, 0.7)[0].severity is Severity.CRITICAL


def test_little_or_short_pressure_is_not_reported() -> None:
    """A few per cent are usual, and so are a few seconds."""
    assert play(0.05, 0.01) == []
    assert play(0.5, 0.3, seconds=6) == []
