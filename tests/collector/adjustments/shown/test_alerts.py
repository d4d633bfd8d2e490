"""Conditions about adjustments: which are raised, when they are cleared, and what a restart keeps."""

from collections.abc import Sequence

import pytest

from flyball_collector.adjustments.adjustment import Adjustment, AdjustmentState, Decision
from flyball_collector.adjustments.shown.alerts import ACTIVE_SECONDS, AdjustmentAlerts
from flyball_collector.http.adjustment_testing import faster, some_adjustment
from flyball_collector.timeline.entry import Entry

AT = 10**18 + 10**9
HOUR = ACTIVE_SECONDS * 10**9
NOT_REPORTED = set(AdjustmentState) - {AdjustmentState.PROPOSED, AdjustmentState.ROLLED_BACK, AdjustmentState.FAILED}


def reported(*changes: tuple[Adjustment, int]) -> list[Entry]:
    """Return what is reported of changes that are noticed at these times."""
    found: list[Entry] = []
    alerts = AdjustmentAlerts(found.append)
    for adjustment, at_ns in changes:
        alerts.take(adjustment)
        alerts.update(at_ns)
    return found


def shown(entries: Sequence[Entry]) -> list[tuple[str, str, str]]:
    return [(each.kind, each.state, each.severity) for each in entries]


@pytest.mark.parametrize(
    ("state", "kind", "severity"),
    [
        (AdjustmentState.ROLLED_BACK, "adjustment_rolled_back", "warning"),
        (AdjustmentState.FAILED, "adjustment_failed", "critical"),
    ],
)
def test_harm_is_active_for_an_hour(state: AdjustmentState, kind: str, severity: str) -> None:
    """It is raised once at the time of the change, with what was measured, and cleared an hour later."""
    found: list[Entry] = []
    alerts = AdjustmentAlerts(found.append)
    harm = some_adjustment(state, effect=faster(0.8), reason="the run became slower", inverse="1")
    for second in (0, 1, ACTIVE_SECONDS - 1, ACTIVE_SECONDS, ACTIVE_SECONDS + 1):
        if second < 2:
            alerts.take(harm)
        alerts.update(AT + second * 10**9)
    raised, over = found
    assert shown(found) == [(kind, "raised", severity), (kind, "cleared", severity)]
    assert (raised.time_ns, raised.raised_ns, over.time_ns) == (AT, AT, AT + HOUR)
    assert (raised.run, raised.resource) == ("r", "micro_batch")
    assert "-20 %" in raised.because
    assert "the run became slower" in raised.because
    assert raised.condition == over.condition
    int(raised.condition, 16)


def test_a_proposal_is_active_until_it_is_decided() -> None:
    """It does not end by itself after an hour, and its end has the decision."""
    proposed = some_adjustment(AdjustmentState.PROPOSED)
    by_otto = Decision(time_ns=AT, what="approve", who="otto")
    offered = some_adjustment(AdjustmentState.OFFERED, changed_ns=AT + 2 * HOUR, decisions=(by_otto,))
    found = reported((proposed, AT), (proposed, AT + HOUR + 1), (offered, AT + 2 * HOUR))
    assert shown(found) == [("adjustment_proposed", "raised", "info"), ("adjustment_proposed", "cleared", "info")]
    assert f"flyball adjust approve {proposed.id}" in found[0].because
    assert "approved by otto" in found[1].because


def test_a_change_of_state_ends_one_condition_and_begins_another() -> None:
    """A proposal that failed within a second is cleared before the failure is raised."""
    found = reported((some_adjustment(AdjustmentState.PROPOSED), AT), (some_adjustment(AdjustmentState.FAILED), AT + 1))
    assert shown(found) == [
        ("adjustment_proposed", "raised", "info"),
        ("adjustment_proposed", "cleared", "info"),
        ("adjustment_failed", "raised", "critical"),
    ]
    assert found[0].condition != found[2].condition


def test_only_the_last_state_of_a_second_counts() -> None:
    """A proposal that is offered at once, as the policy auto does, is not reported."""
    found: list[Entry] = []
    alerts = AdjustmentAlerts(found.append)
    alerts.take(some_adjustment(AdjustmentState.PROPOSED))
    alerts.take(some_adjustment(AdjustmentState.OFFERED))
    alerts.update(AT)
    assert found == []


@pytest.mark.parametrize("state", sorted(NOT_REPORTED))
def test_other_states_are_not_reported(state: AdjustmentState) -> None:
    """People are not notified of what went as intended, nor of what they have done themselves."""
    assert reported((some_adjustment(state, effect=faster()), AT)) == []


def test_a_restart_keeps_what_is_active_and_ends_the_rest() -> None:
    """Conditions within their hour are active again and cleared in time; all others have ends, and nothing is sent."""
    found: list[Entry] = []
    alerts = AdjustmentAlerts(found.append)
    now_ns = AT + HOUR
    fresh = some_adjustment(AdjustmentState.FAILED, id="1", changed_ns=AT + 10**9)
    stored = [
        fresh,
        some_adjustment(AdjustmentState.ROLLED_BACK, id="2", changed_ns=AT - 1),
        some_adjustment(AdjustmentState.KEPT, id="3", changed_ns=AT - 1),
        some_adjustment(AdjustmentState.PROPOSED, id="4", changed_ns=AT - 1),
    ]
    active, ended = alerts.load(stored, now_ns)
    assert shown(active) == [("adjustment_failed", "raised", "critical"), ("adjustment_proposed", "raised", "info")]
    assert {each.state for each in ended} == {"cleared"}
    assert {each.condition for each in active}.isdisjoint(each.condition for each in ended)
    assert len({each.condition for each in ended}) == 3 * len(stored) - len(active)
    alerts.take(fresh)
    alerts.update(now_ns)
    assert found == []
    alerts.update(now_ns + 10**9)
    assert shown(found) == [("adjustment_failed", "cleared", "critical")]


def test_ends_of_long_ago_are_not_loaded() -> None:
    """No receiver can still know a condition of an adjustment that changed more than a week ago."""
    alerts = AdjustmentAlerts(lambda _: None)
    assert alerts.load([some_adjustment(AdjustmentState.ROLLED_BACK)], AT + 8 * 24 * HOUR) == ([], [])
