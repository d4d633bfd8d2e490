"""Conditions about adjustments for people who are not looking: one was taken back, failed, or waits for approval.

Taken back and failed are instants. They are active for an hour, as long as the alerts of Prometheus: Alertmanager
groups alerts for some minutes and never sends one that was resolved in the meantime.
"""

import asyncio
import hashlib
from collections.abc import Callable, Coroutine, Iterable, Iterator
from typing import Protocol

import msgspec

from flyball_collector.adjustments.adjustment import Adjustment, AdjustmentState
from flyball_collector.adjustments.shown.reporting import ReportedAdjustments
from flyball_collector.adjustments.shown.timeline_notes import REMEMBERED, note_of
from flyball_collector.diagnosis.event import State
from flyball_collector.notify.adjustment_kinds import WAITS_FOR_APPROVAL
from flyball_collector.timeline.entry import Entry, entry_id

ACTIVE_SECONDS = 3600
"""As the range of the alerts FlyballAdjustmentRolledBack and FlyballAdjustmentFailed in deploy/prometheus."""

UPDATE_SECONDS = 1.0
"""A proposal that is approved within this time is not reported."""

_ALERTED = (AdjustmentState.PROPOSED, AdjustmentState.ROLLED_BACK, AdjustmentState.FAILED)
_ACTIVE_NS = ACTIVE_SECONDS * 10**9
_ENDED_NS = 7 * 86400 * 10**9  # as notify.keep_hours: receivers may know conditions that are older than an hour


class AlertReceivers(Protocol):
    """The part of the notifier that is used here."""

    loaded: asyncio.Event

    def load_adjustments(self, active: Iterable[Entry], ended: Iterable[Entry]) -> None:
        """Take the conditions from before a restart, before the notifier loads."""

    def report(self, entry: Entry) -> None:
        """Notify of a condition about an adjustment."""


class AdjustmentAlerts:
    """Listens to the governor. Changes are reported when `update` is called, so that short states are not."""

    def __init__(self, report: Callable[[Entry], None]) -> None:
        self._report = report
        self._changed: dict[str, Adjustment] = {}
        self._active: dict[str, Entry] = {}  # by adjustment

    def load(self, adjustments: Iterable[Adjustment], now_ns: int) -> tuple[list[Entry], list[Entry]]:
        """Take adjustments from before a restart. Return their active conditions, and those that have ended."""
        ended: list[Entry] = []
        for adjustment in adjustments:
            alert = alert_of(adjustment)
            if alert is not None and not _is_old(alert, now_ns):
                self._active[adjustment.id] = alert
            if now_ns - adjustment.changed_ns < _ENDED_NS:
                kept = self._active.get(adjustment.id)
                ended += (each for each in _ends(adjustment, now_ns) if kept is None or each.kind != kept.kind)
        return list(self._active.values()), ended

    def take(self, adjustment: Adjustment) -> None:
        """Take a change of an adjustment."""
        self._changed[adjustment.id] = adjustment

    def update(self, now_ns: int) -> None:
        """Report what has changed since the last call, and clear what is older than an hour."""
        changed, self._changed = self._changed, {}
        for adjustment in changed.values():
            self._update(adjustment, now_ns)
        for id_, alert in [(id_, alert) for id_, alert in self._active.items() if _is_old(alert, now_ns)]:
            self._report(_cleared(alert, alert.because, now_ns))
            del self._active[id_]

    def _update(self, adjustment: Adjustment, now_ns: int) -> None:
        before, alert = self._active.get(adjustment.id), alert_of(adjustment)
        if before is not None and (alert is None or alert.condition != before.condition):
            note = note_of(adjustment)
            self._report(_cleared(before, before.because if note is None else note.because, now_ns))
            del self._active[adjustment.id]
        if alert is not None and adjustment.id not in self._active and not _is_old(alert, now_ns):
            self._report(alert)
            self._active[adjustment.id] = alert


def follow_adjustments(
    governor: ReportedAdjustments, receivers: AlertReceivers, clock: Callable[[], int]
) -> Callable[[], Coroutine[None, None, None]]:
    """Load the conditions from before a restart into the notifier. Return what reports further ones until cancelled."""
    alerts = AdjustmentAlerts(receivers.report)
    receivers.load_adjustments(*alerts.load(governor.find(limit=REMEMBERED), clock()))
    governor.on_change(alerts.take)

    async def run() -> None:
        await receivers.loaded.wait()
        while True:
            alerts.update(clock())
            await asyncio.sleep(UPDATE_SECONDS)

    return run


def alert_of(adjustment: Adjustment) -> Entry | None:
    """Return the condition about an adjustment, or `None` if people need not be notified."""
    note = note_of(adjustment) if adjustment.state in _ALERTED else None
    return None if note is None else _raised(note, adjustment)


def _raised(note: Entry, adjustment: Adjustment) -> Entry:
    condition = _condition(note.kind, adjustment)
    return msgspec.structs.replace(
        note,
        id=entry_id(note.time_ns, State.RAISED, condition),
        state=State.RAISED.value,
        condition=condition,
        raised_ns=note.time_ns,
    )


def _cleared(alert: Entry, because: str, now_ns: int) -> Entry:
    time_ns = max(now_ns, alert.time_ns)
    return msgspec.structs.replace(
        alert,
        id=entry_id(time_ns, State.CLEARED, alert.condition),
        time_ns=time_ns,
        state=State.CLEARED.value,
        because=because,
    )


def _ends(adjustment: Adjustment, now_ns: int) -> Iterator[Entry]:
    """Yield the ends of all conditions that an adjustment may have had."""
    now = note_of(adjustment)
    for state in _ALERTED:
        alert = alert_of(msgspec.structs.replace(adjustment, state=state))
        if alert is not None:
            yield _cleared(alert, alert.because if now is None else now.because, now_ns)


def _is_old(alert: Entry, now_ns: int) -> bool:
    return alert.kind != WAITS_FOR_APPROVAL and now_ns - alert.raised_ns >= _ACTIVE_NS


def _condition(kind: str, adjustment: Adjustment) -> str:
    return hashlib.blake2s(f"{kind}/{adjustment.id}".encode(), digest_size=8).hexdigest()
