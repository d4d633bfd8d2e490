"""The plans: what is sent when to Alertmanager and to a webhook."""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import msgspec

from flyball_collector.diagnosis.event import Event
from flyball_collector.diagnosis.kinds import Severity
from flyball_collector.notify.alert_text import Links
from flyball_collector.notify.alertmanager import AlertmanagerPlan
from flyball_collector.notify.message import Message, MessagePlan
from flyball_collector.notify.webhook import WebhookPlan, signature
from flyball_collector.timeline.entry import Entry, entry_of
from flyball_collector.timeline.testing import NOW_NS, SECOND_NS, changed, cleared, make_event
from tests.alertmanager_schema import check_alerts, moment

LINKS = Links("https://flyball.example", "https://docs.example/runbooks")


def at(seconds: float) -> int:
    return NOW_NS + int(seconds * SECOND_NS)


def due_message(
    plan: MessagePlan,
    seconds: float,
    waiting: Sequence[Event | Entry] = (),
    active: Sequence[Event] = (),
    notified: dict[str, str] | None = None,
) -> Message | None:
    """Return the message that is due at that time."""
    entries = [entry if isinstance(entry, Entry) else entry_of(entry) for entry in waiting]
    return plan.message(entries, lambda: [entry_of(e) for e in active], notified or {}, at(seconds), hurry=False)


def alerts(message: Message | None) -> list[Any]:
    assert message is not None
    found = json.loads(message.body)
    check_alerts(found)
    assert isinstance(found, list)
    return found


def alertmanager(minimum: Severity = Severity.WARNING) -> AlertmanagerPlan:
    return AlertmanagerPlan(60.0, minimum, LINKS)


def test_an_alert_matches_alertmanagers_schema() -> None:
    """It has labels, annotations, a start, and an end at which it expires."""
    event = make_event(seconds_left=600.0)
    (alert,) = alerts(due_message(alertmanager(), 5, [event]))
    assert alert["labels"]["alertname"] == "FlyballGpuOomRisk"
    assert alert["labels"]["instance"] == "node-1"
    assert "10 min left" in alert["annotations"]["description"]
    assert alert["annotations"]["runbook_url"] == "https://docs.example/runbooks/FlyballGpuOomRisk.md"
    assert alert["generatorURL"] == "https://flyball.example/#/host/node-1"
    assert (moment(alert["endsAt"]) - moment(alert["startsAt"])).total_seconds() == 5 + 4 * 60


def test_active_alerts_are_sent_each_minute() -> None:
    """From the first notification to the end; conditions that were never notified, or below the minimum, are not."""
    event, mild, unknown = make_event(), make_event("disk_full", severity=Severity.INFO), make_event("host_lost")
    plan, notified = alertmanager(), {event.condition: "critical", mild.condition: "warning"}
    counts = []
    for second in range(200):
        message = due_message(plan, second, active=[event, mild, unknown], notified=notified)
        if message is not None:
            assert [alert["labels"]["kind"] for alert in alerts(message)] == ["memory_exhaustion"]
            plan.sent(message, at(second))
            counts.append(second)
    assert counts == [0, 60, 120, 180]


def test_active_alerts_are_sent_again_with_their_present_values() -> None:
    """The time left of a minute ago would be wrong."""
    event = make_event(seconds_left=600.0)
    plan = AlertmanagerPlan(
        60.0, Severity.WARNING, LINKS, lambda entry: msgspec.structs.replace(entry, seconds_left=300.0)
    )
    (first,) = alerts(due_message(plan, 0, [event], [event]))
    (again,) = alerts(due_message(plan, 60, active=[event], notified={event.condition: "critical"}))
    assert "10 min left" in first["annotations"]["description"]
    assert "5 min left" in again["annotations"]["description"]


def test_many_alerts_are_sent_in_parts() -> None:
    """A round with a thousand alerts takes several messages; a failed one is repeated."""
    events = [make_event(at=number / 10, host=f"n{number}") for number in range(450)]
    plan, notified = alertmanager(), {event.condition: "critical" for event in events}
    first = due_message(plan, 100, active=events, notified=notified)
    assert first == due_message(plan, 100, active=events, notified=notified)
    hosts = []
    while (message := due_message(plan, 100, active=events, notified=notified)) is not None:
        hosts += [alert["labels"]["instance"] for alert in alerts(message)]
        plan.sent(message, at(100))
    assert sorted(hosts) == sorted(event.subject.host for event in events)


def test_an_end_has_the_labels_of_the_notification() -> None:
    """The end time is that of the condition, the severity the notified one."""
    event = make_event()
    over = cleared(replace(event, severity=Severity.WARNING), after=60)
    (alert,) = alerts(due_message(alertmanager(), 61, [over], notified={event.condition: "critical"}))
    assert alert["labels"]["severity"] == "critical"
    assert moment(alert["endsAt"]).timestamp() == at(60) / 1e9
    (short,) = alerts(due_message(alertmanager(), 61, [event, over]))
    assert moment(short["endsAt"]).timestamp() == at(60) / 1e9


def test_a_change_of_severity_ends_the_old_alert() -> None:
    """Severity is a label: the old alert ends and a new one begins; below the minimum it only ends."""
    event = make_event()
    notified = {event.condition: "critical"}
    old, new = alerts(due_message(alertmanager(), 31, [changed(event, severity=Severity.WARNING)], notified=notified))
    assert (old["labels"]["severity"], new["labels"]["severity"]) == ("critical", "warning")
    assert moment(old["endsAt"]) < moment(new["endsAt"])
    (only,) = alerts(due_message(alertmanager(), 31, [changed(event, severity=Severity.INFO)], notified=notified))
    assert only["labels"]["severity"] == "critical"


def webhook(*by: str, wait: float = 10.0, interval: float = 60.0) -> WebhookPlan:
    return WebhookPlan("hook", by, wait, interval, LINKS)


def test_one_message_per_group_and_interval() -> None:
    """Events of a kind wait for each other and share a message; later ones of the kind wait for the interval."""
    plan = webhook("kind")
    first = [make_event("host_lost", f"n{number}", at=number) for number in range(3)]
    other = make_event("disk_full", at=4)
    assert due_message(plan, 0, first[:1]) is None
    assert due_message(plan, 9, [*first, other]) is None
    message = due_message(plan, 10, [*first, other])
    assert message is not None
    body = json.loads(message.body)
    assert [each["event"]["host"] for each in body["events"]] == ["n0", "n1", "n2"]
    assert body["group"] == {"kind": "host_lost"}
    assert body["text"].startswith("[critical] host_lost raised: GPU 1 on n0: used")
    assert body["text"].endswith("; and 2 more")
    plan.sent(message, at(10))
    late = make_event("host_lost", "late", at=12)
    kinds: dict[int, str] = {}
    for second in range(11, 200):
        message = due_message(plan, second, [other, late] if not kinds else [late])
        if message is not None:
            kinds[second] = message.entries[0].kind
            plan.sent(message, at(second))
            if message.entries[0].kind == "host_lost":
                break
    assert kinds == {19: "disk_full", 70: "host_lost"}


def webhook_plan() -> WebhookPlan:
    return WebhookPlan("w", ("kind",), 10.0, 60.0, LINKS)


def test_less_than_a_minute_is_not_waited_for() -> None:
    """A failure within a minute is sent at once, also within the interval of its group; later ones wait."""
    plan, later, soon = webhook_plan(), make_event(seconds_left=300.0), make_event(host="b", seconds_left=59.0)
    assert due_message(plan, 0, [later]) is None
    assert due_message(plan, 9, [later]) is None
    message = due_message(plan, 9, [later, soon])
    assert message is not None
    assert [entry.host for entry in message.entries] == ["b", "node-1"], "those that cannot wait come first"
    plan.sent(message, at(9))
    third = make_event(host="c", at=10, seconds_left=300.0)
    assert due_message(plan, 30, [third]) is None, "the interval of the group has begun"
    fourth = make_event(host="d", at=30, seconds_left=20.0)
    assert due_message(plan, 30, [third, fourth]) is not None


def test_time_that_runs_out_while_waiting_is_not_waited_for() -> None:
    """The time that is left now counts; the end of a condition can wait."""
    plan, event = webhook_plan(), make_event(seconds_left=65.0)
    assert due_message(plan, 4, [event]) is None
    assert due_message(plan, 6, [event]) is not None
    over = cleared(make_event(host="b", seconds_left=5.0), after=1.0)
    assert due_message(webhook_plan(), 2, [over]) is None


def test_a_large_group_continues_at_once() -> None:
    """Two thousand lost hosts are sent without waiting between the parts."""
    plan = webhook("kind")
    events = [entry_of(make_event("host_lost", f"n{number}", at=number / 1000)) for number in range(1800)]
    due_message(plan, 2, events)
    delivered: list[str] = []
    while (message := due_message(plan, 12, [entry for entry in events if entry.id not in delivered])) is not None:
        delivered += [entry.id for entry in message.entries]
        plan.sent(message, at(12))
    assert delivered == [entry.id for entry in events]


def test_an_event_in_a_message_has_the_public_form() -> None:
    """It has the names of the API and of replay, beside the texts."""
    event = make_event(seconds_left=90.0, gpu_index=3)
    message = webhook(wait=0).message([entry_of(event)], list, {}, at(0), hurry=True)
    assert message is not None
    (webhook_event,) = json.loads(message.body)["events"]
    assert (webhook_event["event"]["gpu"], webhook_event["event"]["gpu_index"]) == ("GPU-1", 3)
    names = {"time", "host", "gpu", "kind", "state", "severity", "confidence", "seconds_left", "because"}
    assert names <= set(webhook_event["event"])
    assert webhook_event["event"]["condition"] == event.condition
    assert webhook_event["alert"] == "FlyballGpuOomRisk"


def test_the_signature_covers_the_body() -> None:
    """It equals the result of `openssl dgst -sha256 -hmac key`."""
    body = b"The quick brown fox jumps over the lazy dog"
    known = "f7bc83f430538424b13298e6aa6fb143ef4d59a14946175997479dbc2d1a3cd8"  # a published test vector
    assert signature("key", body) == f"sha256={known}"
