"""The present values of active conditions: every view takes them from here."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from structlog.testing import capture_logs

from flyball_collector.diagnosis.claims import Claims
from flyball_collector.diagnosis.conditions import Conditions
from flyball_collector.diagnosis.current_values import ConditionMoment, current_event, with_recurrence
from flyball_collector.diagnosis.event import Event
from flyball_collector.diagnosis.kinds import BY_NAME, EventKind
from flyball_collector.diagnosis.subject import Subject, subjects

EXHAUSTION, DISK = BY_NAME["memory_exhaustion"], BY_NAME["bottleneck_disk"]
MEMORY, HOST = subjects([Subject("a", resource="memory")], [0]), subjects([Subject("a")], [0])
SECOND = 10**9
START = 1_900_000_000


def claims(
    kind: EventKind, used: float, *, left: float = np.nan, there: bool = True, known: bool = True, words: str = ""
) -> Claims:
    flags = np.array([there])
    return Claims(
        kind=kind,
        subjects=MEMORY if kind is EXHAUSTION else HOST,
        enters=flags,
        stays=flags,
        known=np.array([known]),
        confidence=np.array([used]),
        level=np.array([used]),
        seconds_left=np.array([left]),
        seconds_left_low=np.array([0.8 * left]),
        seconds_left_high=np.array([1.2 * left]),
        because=lambda _: words or f"{100 * used:.0f} % used",
        evidence={"used_ratio": np.array([used])},
    )


def played(conditions: Conditions, claimed: Sequence[Claims | None]) -> Event:
    """Apply one claim a second, or none; return the present values of the only active condition."""
    for second, one in enumerate(claimed):
        conditions.apply([one] if one is not None else [], (START + second) * SECOND)
    (active,) = conditions.active()
    return conditions.current(active)


def test_a_forecast_counts_down_although_no_event_is_emitted() -> None:
    """Time left with its interval, text, evidence and level are those of the newest claim."""
    conditions = Conditions()
    now = played(conditions, [claims(EXHAUSTION, 0.8 + second / 1000, left=100.0 - second) for second in range(31)])
    (event,) = (active.event for active in conditions.active())
    assert (event.seconds_left, event.because) == (100.0, "80 % used")
    assert (now.seconds_left, now.seconds_left_low, now.seconds_left_high) == pytest.approx((70.0, 56.0, 84.0))
    assert (now.because, now.level) == ("83 % used", now.evidence["used_ratio"])
    assert now.level == pytest.approx(0.83)
    assert (now.condition, now.time_ns, now.severity) == (event.condition, event.time_ns, event.severity)


def test_a_forecast_counts_down_between_two_claims() -> None:
    """Detectors that run every few seconds leave no steps in the time left."""
    now = played(Conditions(), [claims(EXHAUSTION, 0.9, left=100.0), None, None, None])
    assert now.seconds_left == 97.0


def test_a_forecast_that_is_held_is_marked() -> None:
    """After memory was freed there is no time left to show: the text has the present use, and when it is cleared."""
    conditions = Conditions()
    now = played(conditions, [claims(EXHAUSTION, 0.92, left=6.0), *[claims(EXHAUSTION, 0.4, there=False)] * 11])
    assert (now.because, now.seconds_left, now.clears_in_seconds) == ("held: 40 % used", None, 20.0)
    assert now.confidence == 0.92
    conditions.apply([claims(EXHAUSTION, 0.4, there=False)], (START + 31) * SECOND)
    assert not conditions.active()


def test_a_bottleneck_below_its_exit_level_is_fading() -> None:
    """It has the confidence and the numbers of now, and the time after which it is cleared."""
    now = played(Conditions(), [*[claims(DISK, 0.9)] * 5, *[claims(DISK, 0.1, there=False)] * 10])
    assert (now.because, now.confidence, now.clears_in_seconds) == ("fading: 10 % used", 0.1, 21.0)


def test_of_unknown_values_the_last_known_ones_remain() -> None:
    """The time left goes on from the last event; when it has passed, it is unknown, not zero."""
    first, unknown = claims(EXHAUSTION, 0.9, left=20.0), claims(EXHAUSTION, 0.0, there=False, known=False)
    now = played(Conditions(), [first, *[unknown] * 5])
    assert (now.because, now.seconds_left, now.clears_in_seconds) == ("90 % used", 15.0, None)
    assert played(Conditions(), [first, *[unknown] * 25]).seconds_left is None


def test_a_condition_that_has_come_true_stays_so_while_nothing_is_known() -> None:
    """Zero seconds left remain zero."""
    unknown = claims(EXHAUSTION, 0.0, there=False, known=False)
    assert played(Conditions(), [claims(EXHAUSTION, 1.0, left=0.0), unknown, unknown]).seconds_left == 0.0


def test_a_condition_from_before_a_restart_has_its_last_values() -> None:
    """Before its detector has claimed anything, the last event is shown, counting down."""
    before, after = Conditions(), Conditions()
    played(before, [claims(EXHAUSTION, 0.9, left=60.0)])
    after.load([active.event for active in before.active()], START * SECOND)
    after.apply([], (START + 10) * SECOND)
    (active,) = after.active()
    assert (after.current(active).seconds_left, after.current(active).because) == (50.0, "90 % used")


def test_a_reason_that_cannot_be_worded_is_the_last_one_and_is_logged() -> None:
    """A failure of a detector's words shows its last reason as it was, and is not hidden."""

    def fails(_: int) -> str:
        raise ValueError("no words")

    conditions = Conditions()
    played(conditions, [claims(EXHAUSTION, 0.9, left=100.0)])
    (active,) = conditions.active()
    before = replace(active.event, because=with_recurrence("90 % used", 3), times_in_hour=3)
    broken = replace(claims(EXHAUSTION, 0.91, left=99.0), because=fails)
    moment = ConditionMoment(claims_age=0.0, event_age=1.0, times_in_hour=3)
    with capture_logs() as logs:
        now = current_event(before, broken, moment)
    assert (now.because, now.level) == ("comes and goes, 3 times in the last hour: 90 % used", 0.91)
    assert [(each["event"], each["kind"]) for each in logs] == [("reason_failed", "memory_exhaustion")]
