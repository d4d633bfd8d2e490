"""Notes in the timeline about adjustments: each change of state once, and what ranks did when memory ran out."""

import math
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping

from flyball_collector.adjustments.adjustment import Adjustment, AdjustmentState, Value
from flyball_collector.adjustments.shown.wording import change_text, decided_by, outcome_text
from flyball_collector.timeline.entry import NOTED, Entry, entry_id

REMEMBERED = 4096
"""Adjustments whose last noted state is kept."""

_LONGEST_TEXT = 2000
_ORDER = list(AdjustmentState)  # of notes of the same time; the decision of a person is before them
_KINDS: Mapping[AdjustmentState, tuple[str, str]] = {
    AdjustmentState.PROPOSED: ("adjustment_proposed", "info"),
    AdjustmentState.OFFERED: ("adjustment_offered", "info"),
    AdjustmentState.APPLIED: ("adjustment_applied", "info"),
    AdjustmentState.KEPT: ("adjustment_kept", "info"),
    AdjustmentState.ROLLED_BACK: ("adjustment_rolled_back", "warning"),
    AdjustmentState.UNDONE: ("adjustment_rolled_back", "info"),
    AdjustmentState.VETOED: ("adjustment_refused", "info"),
    AdjustmentState.ABORTED: ("adjustment_refused", "info"),
    AdjustmentState.EXPIRED: ("adjustment_refused", "info"),
    AdjustmentState.WITHDRAWN: ("adjustment_refused", "info"),
    AdjustmentState.FAILED: ("adjustment_failed", "critical"),
}
"""Kind and severity. That all ranks are prepared is not noted: the change follows at once."""


class AdjustmentNotes:
    """Listens to the governor, and adds one note for each new state of an adjustment."""

    def __init__(self, add: Callable[[Entry], object], current: Callable[[str], Adjustment | None]) -> None:
        """Create a listener. `add` adds an entry to the timeline, and `current` returns an adjustment as it is now."""
        self._add = add
        self._current = current
        self._states: OrderedDict[str, AdjustmentState] = OrderedDict()

    def load(self, adjustments: Iterable[Adjustment]) -> None:
        """Take adjustments from before a restart: their states are noted already."""
        for adjustment in adjustments:
            self._remember(adjustment)

    def take(self, adjustment: Adjustment) -> None:
        """Note a change of state. States that lasted for no time, such as a proposal that is offered at once, are not.

        Nor are other changes of an adjustment.
        """
        now = self._current(adjustment.id)
        if self._states.get(adjustment.id) == adjustment.state or (now is not None and now.state != adjustment.state):
            return
        self._remember(adjustment)
        note = note_of(adjustment)
        if note is not None:
            self._add(note)

    def _remember(self, adjustment: Adjustment) -> None:
        self._states[adjustment.id] = adjustment.state
        self._states.move_to_end(adjustment.id)
        if len(self._states) > REMEMBERED:
            self._states.popitem(last=False)


def note_of(adjustment: Adjustment) -> Entry | None:
    """Return the note about the state of an adjustment, or `None` for a state that is not noted."""
    kind, severity = _KINDS.get(adjustment.state, ("", ""))
    if not kind:
        return None
    time_ns = adjustment.changed_ns or adjustment.created_ns
    return Entry(
        id=entry_id(time_ns, NOTED, f"{adjustment.id}-{_ORDER.index(adjustment.state):02}"),
        time_ns=time_ns,
        state=NOTED,
        kind=kind,
        host=adjustment.hosts[0] if len(adjustment.hosts) == 1 else "",
        run=adjustment.run,
        resource=adjustment.name,
        severity=severity,
        because=_because(adjustment)[:_LONGEST_TEXT],
        evidence=_evidence(adjustment),
    )


def decision_note(run: str, who: str, text: str, time_ns: int, about: str) -> Entry:
    """Return the note about what a person decided. `about` is the id of the adjustment, or what else it is about."""
    return Entry(
        id=entry_id(time_ns, NOTED, f"{about}-"),
        time_ns=time_ns,
        state=NOTED,
        kind="adjustment_decided",
        run=run,
        because=f"{who} {text}"[:_LONGEST_TEXT],
    )


def _because(adjustment: Adjustment) -> str:
    change, state = change_text(adjustment), adjustment.state
    why = _following(adjustment.because)
    by = decided_by(adjustment)
    match state:
        case AdjustmentState.PROPOSED:
            return f"{change} waits for approval (`flyball adjust approve {adjustment.id}`){_expected(adjustment)}{why}"
        case AdjustmentState.OFFERED:
            ranks = f" to {_ranks(adjustment)}" if adjustment.ranks else ""
            approved = f", {by}" if by else ""
            return f"{change} offered{ranks} for step {adjustment.at_step}{approved}{_expected(adjustment)}{why}"
        case AdjustmentState.APPLIED:
            ranks = f" by {_ranks(adjustment)}" if adjustment.ranks else ""
            return f"{change} applied{ranks} at step {adjustment.at_step}; its effect is being measured"
    return f"{change} {outcome_text(adjustment)}"


def _following(text: str) -> str:
    return f": {text}" if text else ""


def _ranks(adjustment: Adjustment) -> str:
    return "1 rank" if adjustment.ranks == 1 else f"{adjustment.ranks} ranks"


def _expected(adjustment: Adjustment) -> str:
    low, high = adjustment.expected_low, adjustment.expected_high
    return "" if low is None or high is None else f", expected ×{low:.2f} to ×{high:.2f}"


def _evidence(adjustment: Adjustment) -> dict[str, float]:
    """Return the numbers of an adjustment that are known."""
    found = {"from": _number(adjustment.value_from), "to": _number(adjustment.value_to)}
    if adjustment.effect is not None:
        effect = adjustment.effect
        found |= {"gain": effect.gain, "gain_low": effect.gain_low, "gain_high": effect.gain_high}
    return {name: value for name, value in found.items() if value is not None and math.isfinite(value)}


def _number(value: Value) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
