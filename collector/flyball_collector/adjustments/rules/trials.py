"""Judges from the earlier adjustments of a run whether a change is worth trying: what was useless or taken back."""

from collections.abc import Iterable, Iterator, Sequence

from flyball_collector.adjustments.adjustment import Adjustment, AdjustmentState, Value
from flyball_collector.adjustments.declared.declared_values import is_number
from flyball_collector.adjustments.situation.run_situation import SECOND
from flyball_collector.adjustments.values import value_text

HOUR = 3600.0
DAY = 24 * HOUR

USELESS = 1.02
"""A change with less measured gain is not continued in the same direction."""

State = AdjustmentState


def age_seconds(one: Adjustment, now_ns: int) -> float:
    """Return the seconds since an adjustment last changed."""
    return max(0.0, (now_ns - one.changed_ns) / SECOND)


def of_value(history: Iterable[Adjustment], name: str) -> list[Adjustment]:
    """Return the adjustments of a value, the oldest first."""
    return sorted((one for one in history if one.name == name), key=lambda one: one.changed_ns)


def last_change(history: Iterable[Adjustment], name: str) -> Adjustment | None:
    """Return the newest adjustment of a value that took effect and was not taken back."""
    found = [one for one in of_value(history, name) if one.state in (State.APPLIED, State.KEPT)]
    return found[-1] if found else None


def barred(
    history: Sequence[Adjustment],
    name: str,
    now: Value,
    to: Value,
    now_ns: int,
    *,
    protects: bool = False,
    reversal_seconds: float = 0.0,
) -> str:
    """Return why a change must not be tried now, in words; empty if it may.

    A change in the other direction than the last one waits for `reversal_seconds`, so that two rules cannot alternate.
    The measured speed does not bar a change that protects the run. A change for speed does not return for a day to a
    value from which the run had to be protected.
    """
    mine = of_value(history, name)
    last = last_change(mine, name)
    found = next(_tried(mine, to, now_ns), "")
    if not found and last is not None:
        found = _reversal(last, now, to, now_ns, reversal_seconds)
        if not found and not protects and not _is_outdated(last, history):
            found = _useless(last, now, to, now_ns)
    return found or ("" if protects else _harmful(mine, now, to, now_ns))


def _tried(mine: Sequence[Adjustment], to: Value, now_ns: int) -> Iterator[str]:
    """Yield the reasons against trying the same value again."""
    same = [one for one in mine if one.value_to == to]
    for one in reversed(same):
        times = sum(1 for each in same if each.state is one.state)
        if age_seconds(one, now_ns) < _barred_seconds(one, times):
            yield f"tried before: {_outcome(one)}"


def _reversal(last: Adjustment, now: Value, to: Value, now_ns: int, seconds: float) -> str:
    """Return the reason against a change in the other direction; empty if there is none."""
    recent = age_seconds(last, now_ns)
    continues = direction(last.value_from, last.value_to) == direction(now, to)
    return "" if continues or recent >= seconds else f"it was changed the other way {recent / 60:.0f} min ago"


def _useless(last: Adjustment, now: Value, to: Value, now_ns: int) -> str:
    """Return the reason against a further change in a direction that brought nothing; empty if there is none."""
    effect = last.effect
    if effect is None or last.protects or effect.gain >= USELESS or age_seconds(last, now_ns) >= DAY:
        return ""
    continues = direction(last.value_from, last.value_to) == direction(now, to)
    return f"the last change in this direction brought {100 * (effect.gain - 1):+.0f} %" if continues else ""


def _is_outdated(last: Adjustment, history: Iterable[Adjustment]) -> bool:
    """Return True if a change of another value has brought something since: then another limit may apply now."""
    return any(
        one.changed_ns > last.changed_ns
        and one.name != last.name
        and one.state is State.KEPT
        and one.effect is not None
        and one.effect.gain >= USELESS
        for one in history
    )


def _harmful(mine: Sequence[Adjustment], now: Value, to: Value, now_ns: int) -> str:
    """Return the reason if the run had to be protected from this value, or from one before it."""
    towards = direction(now, to)
    for one in mine:
        moved = one.protects and not one.inverse_of and one.state in (State.APPLIED, State.KEPT)
        away = moved and towards != 0 and direction(one.value_from, one.value_to) == -towards
        if away and age_seconds(one, now_ns) < DAY and direction(one.value_from, to) in (0, towards):
            return f"the run had to be protected from {value_text(one.value_from)}: {one.because}"
    return ""


def _barred_seconds(one: Adjustment, times: int) -> float:
    """Return for how long a change that was taken back bars the same change. It doubles with each repetition."""
    taken_back = one.state in (State.ROLLED_BACK, State.UNDONE, State.FAILED)
    return HOUR * 2.0 ** min(times - 1, 6) if taken_back else 0.0


def _outcome(one: Adjustment) -> str:
    return one.state.value.replace("_", " ") + (f" ({one.reason})" if one.reason else "")


def direction(before: Value, after: Value) -> int:
    """Return 1 for more, −1 for less, 0 if values have no order. True is more than false."""
    switches = isinstance(before, bool) and isinstance(after, bool)
    if switches or (is_number(before) and is_number(after)):
        return (after > before) - (after < before)  # type: ignore[operator]  # both are numbers, or both truth values
    return 0
