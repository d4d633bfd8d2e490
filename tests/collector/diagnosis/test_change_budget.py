"""The budget of changes: what comes and goes stays raised, and nothing is raised late."""

import random
from collections.abc import Sequence

import numpy as np
import pytest

from flyball_collector.diagnosis.change_budget import HOUR_SECONDS, ChangeBudget
from flyball_collector.diagnosis.claims import Claims
from flyball_collector.diagnosis.conditions import CHANGES_PER_HOUR, Conditions
from flyball_collector.diagnosis.event import Event, State
from flyball_collector.diagnosis.kinds import BY_NAME, EventKind
from flyball_collector.diagnosis.subject import Subject, subjects

DATA_WAIT, LOST, CPU = BY_NAME["bottleneck_data_wait"], BY_NAME["host_lost"], BY_NAME["bottleneck_cpu"]
HOST = subjects([Subject("a")], [0])
KEY = ("kind", Subject("a"))
SECOND = 10**9
START = 1_900_000_000


def claims(kind: EventKind, *, there: bool, level: float = 0.4) -> Claims:
    flags = np.array([there])
    return Claims(
        kind=kind,
        subjects=HOST,
        enters=flags,
        stays=flags,
        confidence=np.array([0.9]),
        level=np.array([level]),
        because=lambda _: f"steps wait {100 * level:.0f} % of the time",
    )


def played(conditions: Conditions, kind: EventKind, there: Sequence[bool], first: int = 0) -> list[Event]:
    """Return the events of a log with one flag a second."""
    return [
        event
        for second, flag in enumerate(there, first)
        for event in conditions.apply([claims(kind, there=flag)], (START + second) * SECOND)
    ]


STEP = 10
"""Seconds between two claims about drawn logs."""

LOGS = 32


def drawn_log(hours: float, seed: int, *, spell: float = 40.0, pause: float = 150.0) -> list[bool]:
    """Draw a log of spells of waiting with pauses of random lengths, one flag every `STEP` seconds."""
    rng, log = random.Random(seed), list[bool]()
    while len(log) < hours * 3600 / STEP:
        for flag, mean in ((True, spell), (False, pause)):
            log += [flag] * max(1, round(rng.expovariate(1 / mean) / STEP))
    return log[: int(hours * 3600 / STEP)]


def most_in_an_hour(events: Sequence[Event]) -> int:
    """Return the most changes (raised and cleared) of one subject in any hour."""
    times: dict[Subject, list[float]] = {}
    for event in events:
        if event.state is not State.CHANGED:
            times.setdefault(event.subject, []).append(event.time_ns / SECOND)
    return max(
        (sum(0 <= time - first < HOUR_SECONDS for time in of) for of in times.values() for first in of), default=0
    )


def test_ten_hours_of_gaps_stay_within_the_budget() -> None:
    """In no hour of any of 32 drawn logs there are more changes than allowed, and nothing is raised later than else."""
    logs = np.array([drawn_log(10, seed) for seed in range(LOGS)]).T
    hosts = subjects([Subject(f"host-{number}") for number in range(LOGS)], range(LOGS))
    limits = {limit: Conditions(changes_per_hour=limit) for limit in (2, CHANGES_PER_HOUR, 9, 10_000)}
    events: dict[int, list[Event]] = {limit: [] for limit in limits}
    for number, flags in enumerate(logs):
        claimed = Claims(
            kind=DATA_WAIT,
            subjects=hosts,
            enters=flags,
            stays=flags,
            confidence=np.ones(LOGS),
            because=lambda _: "it waits",
        )
        for limit, conditions in limits.items():
            events[limit] += conditions.apply([claimed], (START + STEP * number) * SECOND)
        free, limited = (limits[limit].raised(DATA_WAIT.name)[1] for limit in (10_000, CHANGES_PER_HOUR))
        assert not (free & ~limited).any()
    most = {limit: most_in_an_hour(of_limit) for limit, of_limit in events.items()}
    assert most.pop(10_000) > 20
    assert all(1 <= changes <= limit for limit, changes in most.items()), most


def recurring(conditions: Conditions, kind: EventKind = DATA_WAIT) -> list[Event]:
    """Let a condition come for 20 s and go for 100 s, three times."""
    return played(conditions, kind, ([True] * 20 + [False] * 100) * 3)


def test_a_condition_that_comes_and_goes_reports_how_often() -> None:
    """Its third end is not reported as one, but as a change, which has the number; present values count on."""
    conditions = Conditions()
    events = recurring(conditions)
    assert [event.state.value for event in events] == ["raised", "cleared"] * 2 + ["raised", "changed"]
    assert events[-1].times_in_hour == 3
    assert events[-1].because == "comes and goes, 3 times in the last hour: steps wait 40 % of the time"
    assert len(played(conditions, DATA_WAIT, [True] * 20, first=360)) == 0
    (active,) = conditions.active()
    now = conditions.current(active)
    assert (now.times_in_hour, active.absent) == (4, False)
    assert now.because.startswith("comes and goes, 4 times in the last hour: steps wait")


def test_a_condition_that_stopped_coming_is_cleared_within_the_hour() -> None:
    """It is cleared when the budget allows that again, and the time until then is known."""
    conditions = Conditions()
    recurring(conditions)
    (active,) = conditions.active()
    left = conditions.current(active).clears_in_seconds
    assert left is not None
    assert 3000 < left < HOUR_SECONDS
    later = played(conditions, DATA_WAIT, [False] * 3600, first=360)
    assert [event.state for event in later] == [State.CLEARED]
    assert (later[0].time_ns / SECOND - START - 359) == pytest.approx(left, abs=2)


def test_an_absent_condition_explains_nothing_and_is_not_counted() -> None:
    """A host that is there again is diagnosed, although `host_lost` stays raised because it flaps."""
    conditions = Conditions()
    recurring(conditions, LOST)
    assert conditions.is_active("host_lost", Subject("a"))
    assert not conditions.raised("host_lost")[1].any()
    events = played(conditions, CPU, [True] * 6, first=360)
    assert [(event.kind.name, event.state.value) for event in events] == [("bottleneck_cpu", "raised")]


def test_what_an_absent_condition_explains_is_cleared_when_it_is_back() -> None:
    """The return counts as a beginning, although nothing is raised."""
    conditions = Conditions()
    recurring(conditions, LOST)
    played(conditions, CPU, [True] * 6, first=360)
    back = conditions.apply([claims(LOST, there=True), claims(CPU, there=True)], (START + 370) * SECOND)
    assert [(event.kind.name, event.state.value) for event in back] == [("bottleneck_cpu", "cleared")]


def test_an_effect_is_not_cleared_and_raised_with_each_change_of_its_causes() -> None:
    """Conditions that explain it and end again do not make it flap."""
    conditions, events = Conditions(), []
    causes = [BY_NAME[name] for name in ("bottleneck_cpu", "bottleneck_disk", "bottleneck_network", "bottleneck_swap")]
    for second in range(3600):
        cause = causes[second // 200 % 4]
        claimed = [claims(each, there=each is cause and second % 200 < 60) for each in causes]
        events += conditions.apply([*claimed, claims(DATA_WAIT, there=True)], (START + second) * SECOND)
    of_effect = [event for event in events if event.kind is DATA_WAIT]
    assert len([event for event in of_effect if event.state is State.CLEARED]) >= 2
    assert most_in_an_hour(of_effect) <= CHANGES_PER_HOUR


def test_old_changes_are_forgotten() -> None:
    """After an hour without a change, the budget is as new, and it keeps nothing about the condition."""
    budget = ChangeBudget(4)
    for second in range(6):
        budget.add(KEY, second, begins=second % 2 == 0)
    assert budget.clears_at(KEY, 10.0) == 3 + HOUR_SECONDS
    assert budget.times_in_hour(KEY, 10.0) == 3
    assert budget.clears_at(KEY, 2 * HOUR_SECONDS) == 2 * HOUR_SECONDS
    budget.add(("other", Subject("b")), 2 * HOUR_SECONDS, begins=True)
    assert list(budget._changes) == [("other", Subject("b"))]  # memory is not visible outside
