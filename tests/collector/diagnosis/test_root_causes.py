"""Conditions that explain others, and conditions that are active together."""

import numpy as np

from flyball_collector.diagnosis.claims import Claims
from flyball_collector.diagnosis.conditions import Conditions
from flyball_collector.diagnosis.kinds import EventKind, Group, Scope, Severity
from flyball_collector.diagnosis.root_causes import SEPARATE_SECONDS
from flyball_collector.diagnosis.subject import Subject, subjects

SECOND = 10**9
START = 1_900_000_000
HOSTS = subjects([Subject("a")], [0])


def kind(name: str, *, explained_by: tuple[str, ...] = (), costs_time: bool = True) -> EventKind:
    return EventKind(
        name, Group.BOTTLENECK, Scope.HOST, Severity.INFO, "It costs time.", raise_after_seconds=3,
        clear_after_seconds=30, explained_by=explained_by, costs_time=costs_time,
    )  # fmt: skip


CAUSE, BROKEN = kind("cause"), kind("broken", costs_time=False)
EFFECT = kind("effect", explained_by=("cause", "broken"))


def claim(of: EventKind, score: float) -> Claims:
    """Claim a condition that holds while it costs anything."""
    flags = np.array([score > 0])
    return Claims(
        kind=of, subjects=HOSTS, enters=flags, stays=flags, confidence=np.array([0.8]), level=np.array([score / 0.8])
    )


def play(*lines: tuple[int, float, float], cause: EventKind = CAUSE) -> list[tuple[int, str, str]]:
    """Play lines of (seconds, cause's score, effect's score); return (second, kind, state) of the events."""
    conditions = Conditions((EFFECT, CAUSE, BROKEN))
    found: list[tuple[int, str, str]] = []
    scores = [(larger, smaller) for seconds, larger, smaller in lines for _ in range(seconds)]
    for second, (larger, smaller) in enumerate(scores):
        events = conditions.apply([claim(cause, larger), claim(EFFECT, smaller)], (START + second) * SECOND)
        found += [(second, event.kind.name, event.state.value) for event in events]
    return found


def test_a_cause_of_similar_cost_suppresses_its_effect() -> None:
    """This also applies to a cause with half the cost: lost time is measured less well than waiting time."""
    assert play((100, 0.4, 0.5)) == [(3, "cause", "raised")]
    assert play((100, 0.25, 0.5)) == [(3, "cause", "raised")]


def test_a_small_cause_does_not_suppress_a_large_effect() -> None:
    """Both are raised, the effect after it has been clearly larger for some time."""
    found = play((100, 0.1, 0.5))
    assert [(name, state) for _, name, state in found] == [("cause", "raised"), ("effect", "raised")]
    assert 3 + SEPARATE_SECONDS <= found[1][0] <= 3 + SEPARATE_SECONDS + 5


def test_broken_hardware_explains_everything() -> None:
    """Only shares of time are compared with each other."""
    assert play((100, 0.1, 0.5), cause=BROKEN) == [(3, "broken", "raised")]


def test_a_growing_cause_clears_its_effect() -> None:
    """The effect is cleared after the cause has been about as large for long enough."""
    found = play((60, 0.1, 0.5), (100, 0.5, 0.5))
    assert [(name, state) for _, name, state in found] == [
        ("cause", "raised"), ("effect", "raised"), ("effect", "cleared"),
    ]  # fmt: skip
    assert found[2][0] == 60 + EFFECT.clear_after_seconds


def test_a_later_cause_clears_only_smaller_effects() -> None:
    """The effect is cleared when a large cause is raised; a small cause changes nothing."""
    assert [(name, state) for _, name, state in play((60, 0.0, 0.5), (60, 0.4, 0.5))] == [
        ("effect", "raised"), ("cause", "raised"), ("effect", "cleared"),
    ]  # fmt: skip
    assert [(name, state) for _, name, state in play((60, 0.0, 0.5), (60, 0.1, 0.5))] == [
        ("effect", "raised"), ("cause", "raised"),
    ]  # fmt: skip


def test_fluctuating_shares_do_not_make_conditions_flap() -> None:
    """Between a third and two thirds nothing changes, and single seconds do not count."""
    fluctuating = [(7, 0.12, 0.5), (7, 0.3, 0.5)] * 60
    assert [(name, state) for _, name, state in play(*fluctuating)] == [("cause", "raised")]
    both = play((40, 0.1, 0.5), *[(7, 0.12, 0.5), (20, 0.5, 0.5)] * 30)
    assert [(name, state) for _, name, state in both] == [("cause", "raised"), ("effect", "raised")]
