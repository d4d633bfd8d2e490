"""Limits on how often a run is changed: pure functions of its history."""

from collections.abc import Iterable, Sequence

from flyball_collector.adjustments.adjustment import Adjustment, AdjustmentState, Value
from flyball_collector.adjustments.settings import AdjustmentsSettings
from flyball_collector.adjustments.values import same_value

GOVERNOR = "flyball"
"""The name under which the governor's own decisions are recorded."""

AT_ONCE = frozenset({"throttle", "pause", "checkpoint_now"})
"""Levers that change no result, cost only time, and are taken back at any step. Heat changes within a minute, so they
need no cool-down, and no measurement: that they cost time is known before."""

AT_ONCE_PER_HOUR = 30
ROLL_BACKS_THAT_DISABLE = 2
FIRST_RETRY_SECONDS = 30.0
LAST_RETRY_SECONDS = 3600.0
LONGEST_COOLDOWN_MINUTES = 1440.0

_HOUR_NS = 3600 * 10**9
_SECOND = 10**9
_UNSUCCESSFUL = frozenset(
    {
        AdjustmentState.VETOED,
        AdjustmentState.ABORTED,
        AdjustmentState.EXPIRED,
        AdjustmentState.WITHDRAWN,
        AdjustmentState.FAILED,
    }
)


def why_not_now(
    history: Sequence[Adjustment],
    settings: AdjustmentsSettings,
    now_ns: int,
    *,
    rule: str,
    name: str,
    lever: str,
    to: Value,
    protects: bool,
) -> str:
    """Return why the governor must not propose this change now; an empty text if it may.

    `history` has the adjustments of the run, the newest first.
    """
    changes = [each for each in history if not each.inverse_of]
    same = [each for each in changes if (each.rule, each.name) == (rule, name)]
    return (
        _disabled(same, lever, to, settings)
        or _too_soon_after_a_refusal(same, settings, now_ns)
        or _too_many(changes, lever, settings, now_ns, protects=protects)
        or ("" if protects or lever in AT_ONCE else _cooling_down(changes, settings, now_ns))
    )


def cooldown_minutes(history: Iterable[Adjustment], settings: AdjustmentsSettings) -> float:
    """Return the time between two changes: it doubles with each change that was taken back."""
    doubled = settings.cooldown_minutes * 2.0 ** min(20, sum(map(did_harm, history)))
    return min(doubled, max(LONGEST_COOLDOWN_MINUTES, settings.cooldown_minutes))


def did_harm(adjustment: Adjustment) -> bool:
    """Return True if a change had to be taken back, or if the run did not survive it."""
    return adjustment.state is AdjustmentState.ROLLED_BACK or any(
        decision.what in {"roll_back", "not_survived"} for decision in adjustment.decisions
    )


def took_effect(adjustment: Adjustment) -> bool:
    """Return True if all ranks have applied it at some time."""
    return applied_ns(adjustment) is not None


def applied_ns(adjustment: Adjustment) -> int | None:
    """Return when all ranks had applied it; None if they have not."""
    return next((each.time_ns for each in adjustment.decisions if each.what == "applied"), None)


def _disabled(same: Sequence[Adjustment], lever: str, to: Value, settings: AdjustmentsSettings) -> str:
    if lever in settings.disabled_levers:
        return f"the operator has disabled the lever {lever} (adjustments.disabled_levers)"
    if sum(map(did_harm, same)) >= ROLL_BACKS_THAT_DISABLE:
        return f"it was taken back {ROLL_BACKS_THAT_DISABLE} times on this run"
    for each in same:
        if same_value(each.value_to, to) and _vetoed_by_a_person(each):
            return "a person has vetoed it on this run"
    return ""


def _vetoed_by_a_person(adjustment: Adjustment) -> bool:
    return any(each.what in {"veto", "undo"} and each.who != GOVERNOR for each in adjustment.decisions)


def _too_soon_after_a_refusal(same: Sequence[Adjustment], settings: AdjustmentsSettings, now_ns: int) -> str:
    """Return why not: each refusal in a row doubles the time until the next try."""
    refusals = 0
    for each in same:
        if each.state not in _UNSUCCESSFUL:
            break
        refusals += 1
    if not refusals:
        return ""
    wait = min(LAST_RETRY_SECONDS, FIRST_RETRY_SECONDS * 2.0 ** min(20, refusals - 1))
    if any(each.what == "not_approved" for each in same[0].decisions):
        wait = max(wait, settings.approval_minutes * 60.0)
    left = wait - (now_ns - same[0].changed_ns) / _SECOND
    return f"the last try ended as {same[0].state.value}; the next one is in {left:.0f} s" if left > 0 else ""


def _too_many(
    changes: Sequence[Adjustment], lever: str, settings: AdjustmentsSettings, now_ns: int, *, protects: bool
) -> str:
    """Return why not: levers that only cost time, changes that protect, and all others have counts of their own."""
    at_once = lever in AT_ONCE
    limit = AT_ONCE_PER_HOUR if at_once else settings.max_per_hour
    recent = [
        each
        for each in changes
        if (each.lever in AT_ONCE) is at_once
        and (at_once or each.protects is protects)
        and (at := applied_ns(each)) is not None
        and now_ns - at < _HOUR_NS
    ]
    return f"{len(recent)} changes in the last hour; the limit is {limit}" if len(recent) >= limit else ""


def _cooling_down(changes: Sequence[Adjustment], settings: AdjustmentsSettings, now_ns: int) -> str:
    last = next((each for each in changes if took_effect(each) and each.lever not in AT_ONCE), None)
    if last is None:
        return ""
    minutes = cooldown_minutes(changes, settings)
    left = minutes * 60.0 - (now_ns - last.changed_ns) / _SECOND
    return f"{minutes:g} minutes must pass after the last change; {left:.0f} s are left" if left > 0 else ""
