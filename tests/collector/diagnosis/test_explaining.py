"""What explains another condition away, and what stands beside it."""

import numpy as np

from flyball_collector.diagnosis.claims import Claims
from flyball_collector.diagnosis.conditions import Conditions
from flyball_collector.diagnosis.explaining import BESIDE_SECONDS
from flyball_collector.diagnosis.kinds import EventKind, Group, Scope, Severity
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
    """It holds while it costs anything."""
    flags = np.array([score > 0])
    return Claims(
        kind=of, subjects=HOSTS, enters=flags, stays=flags, confidence=np.array([0.8]), level=np.array([score / 0.8])
    )


def play(*lines: tuple[int, float, float], cause: EventKind = CAUSE) -> list[tuple[int, str, str]]:
    """(second, kind, state) of what is told where each line (seconds, cause's score, effect's score) lasts so long."""
    conditions = Conditions((EFFECT, CAUSE, BROKEN))
    told: list[tuple[int, str, str]] = []
    scores = [(larger, smaller) for seconds, larger, smaller in lines for _ in range(seconds)]
    for second, (larger, smaller) in enumerate(scores):
        events = conditions.take([claim(cause, larger), claim(EFFECT, smaller)], (START + second) * SECOND)
        told += [(second, event.kind.name, event.state.value) for event in events]
    return told


def test_a_cause_that_costs_as_much_hides_its_effect() -> None:
    """Also one that costs half as much: what it takes of the time is seen less well than who waits for it."""
    assert play((100, 0.4, 0.5)) == [(3, "cause", "raised")]
    assert play((100, 0.25, 0.5)) == [(3, "cause", "raised")]


def test_a_small_cause_does_not_hide_a_large_effect() -> None:
    """Both are told, the effect when it has been clearly larger for some time."""
    found = play((100, 0.1, 0.5))
    assert [(name, state) for _, name, state in found] == [("cause", "raised"), ("effect", "raised")]
    assert 3 + BESIDE_SECONDS <= found[1][0] <= 3 + BESIDE_SECONDS + 5


def test_what_is_broken_explains_everything() -> None:
    """Shares of time are compared with each other only."""
    assert play((100, 0.1, 0.5), cause=BROKEN) == [(3, "broken", "raised")]


def test_a_cause_that_grows_ends_its_effect() -> None:
    """After it has been about as large for as long as it takes to clear the effect."""
    found = play((60, 0.1, 0.5), (100, 0.5, 0.5))
    assert [(name, state) for _, name, state in found] == [
        ("cause", "raised"), ("effect", "raised"), ("effect", "cleared"),
    ]  # fmt: skip
    assert found[2][0] == 60 + EFFECT.clear_after_seconds


def test_a_cause_that_comes_later_ends_an_effect_that_it_outweighs_only() -> None:
    """When it is raised; a small one leaves the effect as it is."""
    assert [(name, state) for _, name, state in play((60, 0.0, 0.5), (60, 0.4, 0.5))] == [
        ("effect", "raised"), ("cause", "raised"), ("effect", "cleared"),
    ]  # fmt: skip
    assert [(name, state) for _, name, state in play((60, 0.0, 0.5), (60, 0.1, 0.5))] == [
        ("effect", "raised"), ("cause", "raised"),
    ]  # fmt: skip


def test_shares_that_sway_about_the_level_make_nothing_come_and_go() -> None:
    """Between a third and two thirds all stays as it is, and single looks do not count."""
    swaying = [(7, 0.12, 0.5), (7, 0.3, 0.5)] * 60
    assert [(name, state) for _, name, state in play(*swaying)] == [("cause", "raised")]
    beside = play((40, 0.1, 0.5), *[(7, 0.12, 0.5), (20, 0.5, 0.5)] * 30)
    assert [(name, state) for _, name, state in beside] == [("cause", "raised"), ("effect", "raised")]
