"""Adjustments in words: a value, a change, a measured effect. The timeline, advice and errors use the same ones."""

import math
from collections.abc import Iterable, Mapping

from flyball_collector.adjustments.adjustment import Adjustment, AdjustmentState, MeasuredEffect, Value

OWN_NAME = "flyball"
"""The name of the governor in decisions."""

_MANIFOLD = 2.0  # from this gain on, a factor is easier to read than a percentage
_DECIDED = {"approve": "approved by", "propose": "asked for by", "undo": "asked for by", "veto": "vetoed by"}
_ENDED = {
    AdjustmentState.KEPT: "kept",
    AdjustmentState.ROLLED_BACK: "taken back because it did harm",
    AdjustmentState.UNDONE: "taken back by a person",
    AdjustmentState.VETOED: "vetoed",
    AdjustmentState.ABORTED: "not applied",
    AdjustmentState.EXPIRED: "expired",
    AdjustmentState.WITHDRAWN: "withdrawn",
    AdjustmentState.FAILED: "failed",
}


def shown_value(value: Value | None) -> str:
    """Return a value for people. `None` is unknown.

    >>> [shown_value(value) for value in (True, 16, 0.5, "bf16", None)]
    ['on', '16', '0.5', 'bf16', 'unknown']
    """
    if value is None:
        return "unknown"
    if isinstance(value, bool):
        return "on" if value else "off"
    return f"{value:g}" if isinstance(value, float) else str(value)


def change_text(adjustment: Adjustment) -> str:
    """Return what changes: micro_batch 16 → 8, or micro_batch 4/8/16 → 4 if ranks had different values."""
    before = _shown_values(adjustment.value_from, adjustment.values_from)
    return f"{adjustment.name} {before} → {_shown_values(adjustment.value_to, adjustment.values_to)}"


def _shown_values(value: Value, values: Mapping[str, Value]) -> str:
    return "/".join(map(shown_value, sorted(set(values.values()), key=lambda each: (str(type(each)), each)))) or (
        shown_value(value)
    )


def gain_text(gain: float) -> str:
    """Return a factor of speed.

    >>> [gain_text(gain) for gain in (1.034, 1.004, 0.94, 1.0, 15.2)]
    ['+3 %', '+0.4 %', '-6 %', '+0 %', '×15.2']
    """
    if not math.isfinite(gain):
        return "unknown"
    if gain >= _MANIFOLD:
        return f"×{gain:.3g}"
    percent = 100.0 * (gain - 1.0)
    return f"{percent:+.1f} %" if 0.05 <= abs(percent) < 0.95 else f"{round(percent) + 0:+d} %"


def effect_text(effect: MeasuredEffect) -> str:
    """Return the measured gain with its interval: +3 % (+1 % … +5 %)."""
    low, high = gain_text(effect.gain_low), gain_text(effect.gain_high)
    return gain_text(effect.gain) if low == high else f"{gain_text(effect.gain)} ({low} … {high})"


def ended_text(state: AdjustmentState) -> str:
    """Return how an adjustment ended; empty for one in progress."""
    return _ENDED.get(state, "")


def outcome_text(adjustment: Adjustment) -> str:
    """Return how an adjustment ended, with the measured effect and the reason: kept, +3 % (+1 % … +5 %)."""
    measured = f", {effect_text(adjustment.effect)}" if adjustment.effect is not None else ""
    words, reason = ended_text(adjustment.state), adjustment.reason
    if not measured and words and f"{reason} ".startswith(f"{words} "):
        return reason  # vetoed by otto: not now
    return f"{words}{measured}{f': {reason}' if reason else ''}"


def tried_text(adjustments: Iterable[Adjustment], *, names_run: bool = False) -> str:
    """Return what the newest of some adjustments brought, for advice: +3 %, kept. Empty if there is none.

    With `names_run`, the advice is about a host, whose runs may be several.
    """
    newest = max((each for each in adjustments if _was_tried(each)), key=lambda each: each.changed_ns, default=None)
    if newest is None:
        return ""
    measured = f"{effect_text(newest.effect)}, " if newest.effect is not None else ""
    where = f"run {newest.run}" if names_run else "this run"
    return f"tried on {where}: {change_text(newest)}, {measured}{ended_text(newest.state)}"


def in_progress_text(adjustments: Iterable[Adjustment], *, names_run: bool = False) -> str:
    """Return what becomes of the newest of some adjustments in progress, for advice. Empty if there is none."""
    newest = max((each for each in adjustments if not each.is_over), key=lambda each: each.changed_ns, default=None)
    if newest is None:
        return ""
    where = f"run {newest.run}" if names_run else "this run"
    match newest.state:
        case AdjustmentState.PROPOSED:
            return f"proposed for {where}: {change_text(newest)}, waits for `flyball adjust approve {newest.id}`"
        case AdjustmentState.APPLIED:
            return f"made on {where}: {change_text(newest)}, its effect is being measured"
    return f"being made on {where}: {change_text(newest)}"


def decided_by(adjustment: Adjustment) -> str:
    """Return who decided last about an adjustment, if it was a person: approved by otto."""
    last = next((each for each in reversed(adjustment.decisions) if each.who != OWN_NAME), None)
    return "" if last is None else f"{_DECIDED.get(last.what, 'decided by')} {last.who}"


def _was_tried(adjustment: Adjustment) -> bool:
    """Return True if the change was made and its outcome is known. The way back is a part of the outcome."""
    ended = adjustment.state in {AdjustmentState.KEPT, AdjustmentState.ROLLED_BACK, AdjustmentState.UNDONE}
    return ended and not adjustment.inverse_of
