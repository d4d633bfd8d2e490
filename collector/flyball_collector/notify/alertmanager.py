"""Alertmanager's API v2: active alerts are sent again and again, cleared ones once with their end.

https://github.com/prometheus/alertmanager/blob/main/api/v2/openapi.yaml, `postAlerts`.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from flyball_collector.diagnosis.kinds import Severity
from flyball_collector.notify.alert_text import Links, annotations, labels
from flyball_collector.notify.message import Message
from flyball_collector.timeline.entry import Entry

PATH = "/api/v2/alerts"
EXPIRES_AFTER_RESENDS = 4
"""Like Prometheus: an alert that is not sent again expires by itself."""

_AT_ONCE = 200
_SECOND = 10**9

Alert = dict[str, Any]


def as_reported(entry: Entry) -> Entry:
    """Return an entry as it was reported. The default where present values are unknown."""
    return entry


class AlertmanagerPlan:
    """Sends new entries at once, and all active alerts every `resend_seconds`."""

    def __init__(
        self,
        resend_seconds: float,
        min_severity: Severity,
        links: Links,
        live: Callable[[Entry], Entry] = as_reported,
    ) -> None:
        """Set up the plan. `live` returns an entry with its present values, which are sent again."""
        self._resend_ns = int(resend_seconds * _SECOND)
        self._min_severity = min_severity
        self._links = links
        self._live = live
        self._round_ns: int | None = None
        self._rest: list[Entry] = []

    def message(
        self,
        waiting: Sequence[Entry],
        active: Callable[[], Sequence[Entry]],
        notified: Mapping[str, str],
        now_ns: int,
        *,
        hurry: bool,  # noqa: ARG002  there is no delay here
    ) -> Message | None:
        """Return new entries first, then the next part of the active alerts."""
        if waiting:
            part = tuple(waiting[:_AT_ONCE])
            return Message(msgspec.json.encode(self.alerts(part, notified, now_ns)), part)
        if not self._rest and (self._round_ns is None or now_ns - self._round_ns >= self._resend_ns):
            self._round_ns = now_ns
            self._rest = [e for e in active() if e.condition in notified and e.severity_level >= self._min_severity]
        if not self._rest:
            return None
        part = tuple(map(self._live, self._rest[:_AT_ONCE]))
        return Message(msgspec.json.encode([self._alert(entry, self._expiry_ns(now_ns)) for entry in part]))

    def sent(self, message: Message, now_ns: int) -> None:  # noqa: ARG002  the round has its own time
        """Continue the round."""
        if not message.entries:
            del self._rest[:_AT_ONCE]

    def alerts(self, entries: Sequence[Entry], notified: Mapping[str, str], now_ns: int) -> list[Alert]:
        """Return the last state of each condition, and the end of alerts whose severity label has changed."""
        last = {entry.condition: entry for entry in entries}
        alerts = []
        for condition, entry in last.items():
            known = notified.get(condition)
            if not entry.is_active:
                alerts.append(self._alert(entry, entry.time_ns, known or entry.severity))
                continue
            if known is not None and known != entry.severity:
                alerts.append(self._alert(entry, entry.time_ns, known))
            if entry.severity_level >= self._min_severity:
                alerts.append(self._alert(entry, self._expiry_ns(now_ns)))
        return alerts

    def _alert(self, entry: Entry, ends_ns: int, severity: str = "") -> Alert:
        alert: Alert = {
            "labels": labels(entry, severity=severity),
            "annotations": annotations(entry, self._links),
            "startsAt": rfc3339(min(entry.raised_ns or entry.time_ns, ends_ns)),
            "endsAt": rfc3339(ends_ns),
        }
        if page := self._links.page(entry):
            alert["generatorURL"] = page
        return alert

    def _expiry_ns(self, now_ns: int) -> int:
        return now_ns + EXPIRES_AFTER_RESENDS * self._resend_ns


def rfc3339(time_ns: int) -> str:
    """Format a time in UTC, to the microsecond."""
    seconds, rest = divmod(time_ns, _SECOND)
    when = datetime.fromtimestamp(seconds, UTC) + timedelta(microseconds=rest // 1000)
    return when.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
