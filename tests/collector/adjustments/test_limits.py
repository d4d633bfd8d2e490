"""Limits on how often a run is changed."""

import msgspec
import pytest

from flyball_collector.adjustments.adjustment import Adjustment, AdjustmentState, Decision
from flyball_collector.adjustments.limits import cooldown_minutes, why_not_now
from flyball_collector.adjustments.settings import AdjustmentsSettings

SETTINGS = AdjustmentsSettings(enabled=True, policy="auto", max_per_hour=3, cooldown_minutes=10)
MINUTE = 60 * 10**9
NOW = 10_000 * MINUTE


def past(minutes: float, state: AdjustmentState = AdjustmentState.KEPT, **fields: object) -> Adjustment:
    """Return an adjustment that ended so many minutes ago."""
    at = NOW - int(minutes * MINUTE)
    known: dict[str, object] = {
        "id": f"{minutes}",
        "run": "r",
        "attempt": 0,
        "name": "workers",
        "lever": "workers",
        "value_from": 1,
        "value_to": 2,
        "safety": 1,
        "rule": "grow",
        "created_ns": at,
        "changed_ns": at,
    }
    applied = state in {AdjustmentState.KEPT, AdjustmentState.ROLLED_BACK, AdjustmentState.UNDONE}
    decisions = (Decision(time_ns=at, what="applied", who="flyball"),) if applied else ()
    adjustment = Adjustment(state=state, **{**known, "decisions": decisions, **fields})  # type: ignore[arg-type]  # the test's own names
    if state is AdjustmentState.ROLLED_BACK:
        harm = Decision(time_ns=at, what="roll_back", who="flyball")
        adjustment = msgspec.structs.replace(adjustment, decisions=(*adjustment.decisions, harm))
    return adjustment


def why(history: list[Adjustment], settings: AdjustmentsSettings = SETTINGS, **fields: object) -> str:
    known = {"rule": "grow", "name": "workers", "lever": "workers", "to": 4, "protects": False}
    return why_not_now(history, settings, NOW, **{**known, **fields})  # type: ignore[arg-type]  # the test's own names


@pytest.mark.parametrize(
    ("history", "fields", "text"),
    [
        ([], {}, ""),
        ([past(5)], {}, "10 minutes must pass"),
        ([past(11)], {}, ""),
        ([past(5)], {"protects": True}, ""),
        ([past(12), past(30), past(50)], {}, "3 changes in the last hour"),
        ([past(12), past(30), past(70)], {}, ""),
        ([past(12), past(30), past(50)], {"protects": True}, ""),
        ([past(each, protects=True) for each in (2, 3, 4)], {"protects": True}, "3 changes in the last hour"),
        ([past(15, AdjustmentState.ROLLED_BACK)], {}, "20 minutes must pass"),
        ([past(21, AdjustmentState.ROLLED_BACK)], {}, ""),
        ([past(100, AdjustmentState.ROLLED_BACK), past(900, AdjustmentState.ROLLED_BACK)], {}, "taken back 2 times"),
        ([past(100, AdjustmentState.ROLLED_BACK), past(900, AdjustmentState.ROLLED_BACK)], {"rule": "other"}, ""),
        ([past(0.2, AdjustmentState.ABORTED)], {}, "the last try ended as aborted; the next one is in 18 s"),
        ([past(1, AdjustmentState.ABORTED)], {}, ""),
        (
            [past(1, AdjustmentState.VETOED), past(2, AdjustmentState.VETOED), past(3, AdjustmentState.VETOED)],
            {},
            "next",
        ),
        ([past(1, AdjustmentState.VETOED), past(2), past(3, AdjustmentState.VETOED)], {"protects": True}, ""),
    ],
)
def test_limits(history: list[Adjustment], fields: dict[str, object], text: str) -> None:
    """Cool-down, changes an hour, roll-backs and refusals limit what rules change; protection skips the cool-down."""
    found = why(history, SETTINGS, **fields)
    assert (text in found) if text else found == ""


def test_levers_that_only_cost_time_have_a_limit_of_their_own() -> None:
    """Throttling is not limited by other changes, nor other changes by it."""
    throttles = [past(minutes, lever="throttle", name="throttle", rule="heat") for minutes in range(1, 21)]
    assert why([past(5), *throttles], rule="heat", name="throttle", lever="throttle") == ""
    assert why(throttles) == ""
    more = [past(minutes / 2, lever="throttle", name="throttle", rule="heat") for minutes in range(1, 31)]
    assert "30 changes in the last hour" in why(more, rule="heat", name="throttle", lever="throttle")


def test_the_operator_disables_a_lever() -> None:
    """A disabled lever is refused by its name."""
    settings = msgspec.structs.replace(SETTINGS, disabled_levers=("workers",))
    assert "disabled the lever workers" in why([], settings)


def test_a_veto_by_a_person_is_for_good() -> None:
    """A change that a person has vetoed or undone is not proposed again, but another value may be."""
    vetoed = past(600, AdjustmentState.VETOED, decisions=(Decision(time_ns=0, what="veto", who="alice"),))
    assert why([vetoed], to=2) == "a person has vetoed it on this run"
    assert why([vetoed], to=4) == ""


def test_the_cool_down_doubles_with_each_roll_back() -> None:
    """10, 20, 40 … minutes, and never more than a day."""
    rolled = [past(minutes, AdjustmentState.ROLLED_BACK) for minutes in range(12)]
    assert [cooldown_minutes(rolled[:count], SETTINGS) for count in range(4)] == [10, 20, 40, 80]
    assert cooldown_minutes(rolled, SETTINGS) == 1440
