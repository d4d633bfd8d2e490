"""Full and filling file systems."""

from collections.abc import Iterable

import numpy as np

from flyball_collector.diagnosis.conditions import Conditions
from flyball_collector.diagnosis.event import Event, State
from flyball_collector.diagnosis.forecast.disk import DiskFull
from flyball_collector.diagnosis.forecast.settings import ForecastSettings
from flyball_collector.diagnosis.forecast.testing import ArrayView, Machines
from flyball_collector.diagnosis.kinds import Severity

START = 1.7e9


def play(use: Iterable[float], *, every: float = 10.0, **others: float) -> list[Event]:
    """Play one mount with this use and constant other readings; return its events."""
    machines, detector, conditions = Machines(1, mounts=("/data",)), DiskFull(ForecastSettings()), Conditions()
    constant = {"filesystem_total_bytes": 1e12} | others
    events: list[Event] = []
    for number, value in enumerate(use):
        mount = {name: np.array([reading]) for name, reading in (constant | {"filesystem_used_ratio": value}).items()}
        view = ArrayView(machines, START + every * number, mount=mount)
        events += conditions.apply(detector.observe(view), view.now_ns)
    return events


def test_a_full_disk_is_reported_with_its_severity() -> None:
    """Below 5 % free is a warning, below 3 % critical; above that it is cleared."""
    events = play([0.9] * 30 + [0.96] * 30 + [0.98] * 30 + [0.7] * 60)
    assert [(event.state, event.severity) for event in events] == [
        (State.RAISED, Severity.WARNING),
        (State.CHANGED, Severity.CRITICAL),
        (State.CLEARED, Severity.CRITICAL),
    ]
    assert events[0].subject.resource == "/data"


def test_a_filling_disk_is_reported_in_advance() -> None:
    """Steady growth is reported hours before, with the time left."""
    hours = 6
    use = np.linspace(0.5, 1.0, hours * 360)
    raised = play(use)[0]
    left = hours * 3600 - (raised.time_ns / 1e9 - START)
    assert left > 1800
    assert raised.seconds_left is not None
    assert 0.5 * left < raised.seconds_left < 2 * left


def test_checkpoints_that_come_and_go_raise_no_alarm() -> None:
    """A file written every half hour and deleted again stays below the earlier maximum."""
    phase = np.arange(4320) * 10 / 1800 % 1
    assert play(0.6 + 0.3 * phase) == []


def test_inodes_run_out_too() -> None:
    """A million small files fill a disk that has space left."""
    events = play([0.4] * 10, filesystem_inodes=1e6, filesystem_inodes_free=1e4)
    assert events[0].state is State.RAISED


def test_read_only_file_systems_are_not_reported() -> None:
    """Images and read-only mounts are full by design."""
    assert play([1.0] * 20, filesystem_read_only=1.0) == []
    assert play([1.0] * 20, filesystem_total_bytes=30e6) == []
