"""Generic webhooks: grouped events in one message, rate-limited, signed if there is a secret."""

import hashlib
import hmac
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from flyball_collector.notify.adjustment_kinds import meaning
from flyball_collector.notify.alert_text import Links, alert_name, description
from flyball_collector.notify.message import Message
from flyball_collector.notify.urgency import is_urgent
from flyball_collector.timeline.entry import Entry
from flyball_collector.timeline.entry_answer import EntryAnswer, entry_answer
from flyball_collector.times import moment

VERSION = 1
SIGNATURE = "X-Flyball-Signature"
MESSAGE = "X-Flyball-Message"

_AT_ONCE = 500
_SECOND = 10**9


class WebhookEvent(msgspec.Struct, frozen=True):
    """One event with its texts."""

    alert: str
    summary: str
    description: str
    run: str  # the runs that it concerns, with their users
    url: str
    runbook_url: str
    event: EntryAnswer


class WebhookMessage(msgspec.Struct, frozen=True):
    """The body of a message. Each event is sent at least once; repetitions have the same `event.id`."""

    version: int
    id: str
    time: str
    receiver: str
    group: dict[str, str]
    text: str  # everything in one line
    events: list[WebhookEvent]


@dataclass(slots=True)
class _Group:
    first_ns: int  # time of the first waiting entry
    sent_ns: int | None = None


class WebhookPlan:
    """One message per group and interval.

    A group too large for one message continues at once. One with an entry that cannot wait is sent at once.
    """

    def __init__(
        self, receiver: str, group_by: Sequence[str], wait_seconds: float, interval_seconds: float, links: Links
    ) -> None:
        self._receiver = receiver
        self._group_by = tuple(group_by)
        self._wait_ns = int(wait_seconds * _SECOND)
        self._interval_ns = int(interval_seconds * _SECOND)
        self._links = links
        self._groups: dict[tuple[str, ...], _Group] = {}

    def message(
        self,
        waiting: Sequence[Entry],
        active: Callable[[], Sequence[Entry]],  # noqa: ARG002  active conditions are not repeated
        notified: Mapping[str, str],  # noqa: ARG002  the last severity is not needed
        now_ns: int,
        *,
        hurry: bool,
    ) -> Message | None:
        """Return a message of the group that has waited longest among those that are due."""
        members: dict[tuple[str, ...], list[Entry]] = {}
        for entry in waiting:
            members.setdefault(tuple(str(getattr(entry, name)) for name in self._group_by), []).append(entry)
        self._update_groups(members, now_ns)
        due = [
            key
            for key, entries in members.items()
            if hurry or self._is_due(key, now_ns) or any(is_urgent(entry, now_ns) for entry in entries)
        ]
        if not due:
            return None
        key = min(due, key=lambda key: self._groups[key].first_ns)
        urgent_first = sorted(members[key], key=lambda entry: not is_urgent(entry, now_ns))
        return self._message(key, urgent_first[:_AT_ONCE], now_ns)

    def sent(self, message: Message, now_ns: int) -> None:
        """Start the interval of the message's group, unless the message was full."""
        if message.entries and len(message.entries) < _AT_ONCE:
            group = self._groups.get(self._key(message.entries[0]))
            if group is not None:
                group.sent_ns = now_ns

    def _key(self, entry: Entry) -> tuple[str, ...]:
        return tuple(str(getattr(entry, name)) for name in self._group_by)

    def _update_groups(self, members: Mapping[tuple[str, ...], Sequence[Entry]], now_ns: int) -> None:
        for key in members:
            group = self._groups.setdefault(key, _Group(now_ns))
            if group.first_ns < 0:
                group.first_ns = now_ns
        for key in [key for key in self._groups if key not in members]:
            sent_ns = self._groups[key].sent_ns
            if sent_ns is None or now_ns - sent_ns >= self._interval_ns:
                del self._groups[key]
            else:
                self._groups[key].first_ns = -1

    def _is_due(self, key: tuple[str, ...], now_ns: int) -> bool:
        group = self._groups[key]
        interval_over = group.sent_ns is None or now_ns - group.sent_ns >= self._interval_ns
        return interval_over and now_ns - group.first_ns >= self._wait_ns

    def _message(self, key: tuple[str, ...], entries: Sequence[Entry], now_ns: int) -> Message:
        id_ = hashlib.blake2s("\n".join(entry.id for entry in entries).encode(), digest_size=8).hexdigest()
        document = WebhookMessage(
            version=VERSION,
            id=id_,
            time=moment(now_ns).rfc3339,
            receiver=self._receiver,
            group=dict(zip(self._group_by, key, strict=True)),
            text=one_line_text(entries),
            events=[self._event(entry) for entry in entries],
        )
        return Message(msgspec.json.encode(document), tuple(entries), {MESSAGE: id_})

    def _event(self, entry: Entry) -> WebhookEvent:
        return WebhookEvent(
            alert=alert_name(entry),
            summary=meaning(entry.kind),
            description=description(entry),
            run=self._links.runs(entry),
            url=self._links.page(entry),
            runbook_url=self._links.runbook(entry),
            event=entry_answer(entry),
        )


def one_line_text(entries: Sequence[Entry]) -> str:
    """Return a text such as "[critical] memory_exhaustion raised: node-1 …; and 12 more"."""
    first = entries[0]
    rest = f"; and {len(entries) - 1} more" if len(entries) > 1 else ""
    return f"[{first.severity}] {first.kind} {first.state}: {description(first)}{rest}"


def signature(secret: str, body: bytes) -> str:
    """Return the signature of a body, which the receiver computes as well."""
    return "sha256=" + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
