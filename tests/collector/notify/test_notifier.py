"""Notifications to real receivers over real sockets, with a real store."""

import hashlib
import hmac
from contextlib import ExitStack
from pathlib import Path

import pytest
import structlog

from flyball_collector.diagnosis.kinds import Severity
from flyball_collector.diagnosis.subject import Subject
from flyball_collector.notify.notifier import receiver_name
from flyball_collector.notify.outbox import NOTIFIED, WAITING
from flyball_collector.notify.settings import NotifySettings, WebhookSettings
from flyball_collector.notify.silences import Silence
from flyball_collector.store.sqlite import SqliteStore
from flyball_collector.testing import FlakyStore
from flyball_collector.timeline.testing import changed, cleared, make_event
from tests.alertmanager_schema import check_alerts
from tests.collector.notify.running_notifier import alertmanager, running, until, webhook
from tests.processes import free_port
from tests.receiver import Receiver


def hosts(receiver: Receiver) -> list[tuple[str, str]]:
    return [(e["event"]["host"], e["event"]["state"]) for post in receiver.posts() for e in post.json["events"]]


async def test_a_webhook_gets_everything_once(receiver: Receiver, store: SqliteStore) -> None:
    """Raised and cleared arrive in order, once; afterwards no document is left."""
    event = make_event()
    async with running(webhook(receiver), store) as made:
        made.timeline.add_events([event])
        await until(lambda: len(hosts(receiver)) == 1)
        await until(lambda: store.list_documents(NOTIFIED))
        made.timeline.add_events([cleared(event)])
        await until(lambda: len(hosts(receiver)) == 2)
        await until(lambda: not made.waiting)
        assert made.outcomes() == {"delivered": 2}
    assert hosts(receiver) == [("node-1", "raised"), ("node-1", "cleared")]
    assert store.list_documents(WAITING) == store.list_documents(NOTIFIED) == []
    assert receiver.posts()[0].path == "/hook/secret-path"


async def test_messages_are_signed_and_authorized(receiver: Receiver, store: SqliteStore, tmp_path: Path) -> None:
    """The signature matches body and secret; the Authorization header is read from its file for each request."""
    (tmp_path / "secret").write_text("open sesame\n")
    (tmp_path / "authorization").write_text("Bearer one\n")
    settings = webhook(
        receiver, secret_file=str(tmp_path / "secret"), authorization_file=str(tmp_path / "authorization")
    )
    async with running(settings, store) as made:
        made.timeline.add_events([make_event()])
        await until(receiver.posts)
        (tmp_path / "authorization").write_text("Bearer two\n")
        made.timeline.add_events([make_event("disk_full")])
        await until(lambda: len(receiver.posts()) == 2)
    first, second = receiver.posts()
    expected = hmac.new(b"open sesame", first.body, hashlib.sha256).hexdigest()
    assert first.headers["x-flyball-signature"] == f"sha256={expected}"
    assert first.headers["x-flyball-message"] == first.json["id"]
    assert (first.headers["authorization"], second.headers["authorization"]) == ("Bearer one", "Bearer two")


@pytest.mark.parametrize("fault", ["500", "302", "404", "429", "hang", "drip"])
async def test_a_failing_receiver_is_retried(receiver: Receiver, store: SqliteStore, fault: str) -> None:
    """Errors, redirects and slow or missing responses fail after a limited time; waiting entries are then sent."""
    receiver.answer(fault)
    settings = NotifySettings(time_limit_seconds=0.5, webhook=webhook(receiver).webhook)
    with structlog.testing.capture_logs() as logs:
        async with running(settings, store) as made:
            made.timeline.add_events([make_event()])
            await until(lambda: made.outcomes().get("failed", 0) >= 2)
            assert made.waiting == 1
            receiver.answer("200")
            before = len(receiver.posts())
            await until(lambda: made.outcomes().get("delivered"))
    assert before == 0
    assert len(receiver.posts()) == 1
    words = [line["event"] for line in logs]
    assert (words.count("receiver_failed"), words.count("receiver_recovered")) == (1, 1)
    (failed,) = [line for line in logs if line["event"] == "receiver_failed"]
    assert "secret-path" not in str(failed)
    assert failed["reason"].isprintable()


async def test_nothing_is_lost_while_the_receiver_is_down_and_we_restart(store: SqliteStore, tmp_path: Path) -> None:
    """Raised, changed and cleared over three lives of the collector all arrive in order."""
    with ExitStack() as stack:
        receiver = stack.enter_context(Receiver(tmp_path / "receiver"))
        events = [make_event(host=f"n{number}", at=number) for number in range(30)]
        async with running(webhook(receiver), store) as made:
            made.timeline.add_events(events[:20])
            await until(lambda: made.outcomes().get("failed"))
        async with running(webhook(receiver), store) as made:
            assert made.waiting == 20
            made.timeline.add_events([cleared(event) for event in events[:10]])
            await made.timeline.journal.written()
        async with running(webhook(receiver), store) as made:
            made.timeline.add_events(events[20:])
            receiver.start_listening()
            await until(lambda: made.outcomes().get("delivered") == 40)
        raised = [(event.subject.host, "raised") for event in events]
        over = [(event.subject.host, "cleared") for event in events[:10]]
        assert sorted(hosts(receiver)) == sorted(raised + over)
        for event in events[:10]:
            states = [state for host, state in hosts(receiver) if host == event.subject.host]
            assert states == ["raised", "cleared"]


async def test_a_kill_before_the_delivery_is_stored_repeats_it(receiver: Receiver) -> None:
    """The message is sent again with the same id, and nothing is lost."""
    store, event = FlakyStore(), make_event()
    async with running(webhook(receiver), store, killed=True) as made:
        made.timeline.add_events([event])
        await made.timeline.journal.written()
        store.down = True
        await until(lambda: made.outcomes().get("delivered"))
    store.down = False
    async with running(webhook(receiver), store) as made:
        await until(lambda: made.outcomes().get("delivered"))
    first, second = receiver.posts()
    assert first.json["events"][0]["event"]["id"] == second.json["events"][0]["event"]["id"]
    assert first.json["id"] == second.json["id"]


async def test_notifications_are_sent_while_the_store_is_down(receiver: Receiver) -> None:
    """They do not wait for their documents."""
    store = FlakyStore()
    async with running(webhook(receiver), store) as made:
        store.down = True
        made.timeline.add_events([make_event()])
        await until(receiver.posts)
        store.down = False


async def test_a_rejected_message_does_not_stop_others(receiver: Receiver, store: SqliteStore) -> None:
    """One entry of a group is rejected: the others arrive; the rejection is logged, counted and not retried."""
    receiver.answer("refuse poison")
    with structlog.testing.capture_logs() as logs:
        async with running(webhook(receiver), store) as made:
            made.timeline.add_events([make_event(host=host) for host in ("a", "poison", "b")])
            await until(lambda: made.outcomes() == {"delivered": 2, "refused": 1})
            assert made.waiting == 0
    assert sorted(hosts(receiver)) == [("a", "raised"), ("b", "raised")]
    (refused,) = [line for line in logs if line["event"] == "notification_refused"]
    assert refused["status"] == 400


async def test_alertmanager_gets_active_alerts_again_and_again(receiver: Receiver, store: SqliteStore) -> None:
    """Sent, sent again while active, also after a restart, and ended when cleared; always valid by its schema."""
    event = make_event()
    settings = alertmanager(receiver, resend_seconds=1.0)
    async with running(settings, store) as made:
        made.timeline.add_events([event, make_event("bottleneck_cpu"), make_event("cooling_outlier")])
        await until(lambda: len(receiver.posts()) >= 3)
    before = len(receiver.posts())
    async with running(settings, store) as made:
        await until(lambda: len(receiver.posts()) > before)
        made.timeline.add_events([cleared(event)])
        await until(lambda: receiver.posts()[-1].json[0]["endsAt"].startswith("2030-03-17T17:47:40"))
    posts = receiver.posts()
    assert {post.path for post in posts} == {"/api/v2/alerts"}
    for post in posts:
        check_alerts(post.json)
        assert [alert["labels"]["kind"] for alert in post.json] == ["memory_exhaustion"]
    assert posts[-1].json[0]["endsAt"].startswith("2030-03-17T17:47:40")


async def test_a_silence_holds_raised_conditions(receiver: Receiver, store: SqliteStore) -> None:
    """Sent after the silence if still active; not sent if cleared meanwhile; the end of notified ones is sent."""
    known, held, gone = make_event(host="n1"), make_event("disk_full", "n1", at=1), make_event("host_lost", "n1", at=2)
    async with running(webhook(receiver), store) as made:
        made.timeline.add_events([known])
        await until(lambda: len(hosts(receiver)) == 1)
        silence = Silence(id="s", matchers={"host": "n*"}, created_ns=0, until_ns=2**62)
        made.notifier.silences.add(silence)
        made.timeline.add_events([held, gone])
        made.timeline.add_events([make_event(host="other")])
        await until(lambda: len(hosts(receiver)) == 2)
        made.timeline.add_events([cleared(known), cleared(gone)])
        await until(lambda: made.outcomes().get("silenced") == 2)
        await until(lambda: len(hosts(receiver)) == 3)
        made.notifier.silences.remove("s")
        await until(lambda: len(hosts(receiver)) == 4)
    delivered = [
        (e["event"]["host"], e["event"]["kind"], e["event"]["state"])
        for p in receiver.posts()
        for e in p.json["events"]
    ]
    assert delivered == [
        ("n1", "memory_exhaustion", "raised"),
        ("other", "memory_exhaustion", "raised"),
        ("n1", "memory_exhaustion", "cleared"),
        ("n1", "disk_full", "raised"),
    ]


async def test_an_explained_condition_is_held_back(receiver: Receiver, store: SqliteStore) -> None:
    """A GPU that overheats mutes what follows from it, until that is over; what ends meanwhile is never sent."""
    hot = make_event("thermal_slowdown", "n1", severity=Severity.CRITICAL)
    capped, gone = make_event("power_capped", "n1", at=1), make_event("power_capped", "n1", at=2, because="again")
    neighbour = make_event("power_capped", at=3, subject=Subject("n1", "GPU-2"))
    async with running(webhook(receiver), store) as made:
        made.timeline.add_events([hot, gone, cleared(gone, after=1), capped, neighbour])
        await until(lambda: made.outcomes() == {"delivered": 2, "inhibited": 2})
        made.timeline.add_events([cleared(hot)])
        await until(lambda: made.outcomes().get("delivered") == 4)
    delivered = [(e["event"]["kind"], e["event"]["gpu"]) for p in receiver.posts() for e in p.json["events"]]
    assert sorted(delivered[:2]) == [("power_capped", "GPU-2"), ("thermal_slowdown", "GPU-1")]
    assert sorted(delivered[2:]) == [("power_capped", "GPU-1"), ("thermal_slowdown", "GPU-1")]


async def test_a_new_receiver_gets_active_conditions(receiver: Receiver, store: SqliteStore) -> None:
    """It was added to the settings after they were raised; a removed receiver leaves no documents."""
    unreachable = NotifySettings(webhook=WebhookSettings(urls=(f"http://127.0.0.1:{free_port()}/gone",)))
    async with running(unreachable, store) as made:
        made.timeline.add_events([make_event(), make_event("cooling_outlier")])
        await made.timeline.journal.written()
    assert len(store.list_documents(WAITING)) == 1
    with structlog.testing.capture_logs() as logs:
        async with running(webhook(receiver), store) as made:
            await until(lambda: made.outcomes() == {"delivered": 1})
    assert hosts(receiver) == [("node-1", "raised")]
    assert [line["event"] for line in logs].count("receivers_removed") == 1
    assert store.list_documents(WAITING) == []


async def test_a_receiver_that_hangs_does_not_block_others(
    receiver: Receiver, store: SqliteStore, tmp_path: Path
) -> None:
    """Each has its own thread and its own outbox."""
    with ExitStack() as stack:
        slow = stack.enter_context(Receiver(tmp_path / "slow")).start_listening()
        slow.answer("hang")
        settings = NotifySettings(
            webhook=WebhookSettings(urls=(slow.url, receiver.url), group_wait_seconds=0, group_interval_seconds=0)
        )
        async with running(settings, store) as made:
            for number in range(3):
                made.timeline.add_events([make_event(host=f"n{number}", at=number)])
                await until(lambda number=number: len(hosts(receiver)) == number + 1, 3)  # type: ignore[misc]
        assert slow.posts() == []


async def test_entries_that_wait_too_long_are_dropped(store: SqliteStore) -> None:
    """After `keep_hours` they are dropped, counted and logged."""
    away = WebhookSettings(urls=(f"http://127.0.0.1:{free_port()}",), group_wait_seconds=0)
    with structlog.testing.capture_logs() as logs:
        async with running(NotifySettings(keep_hours=0.5 / 3600, webhook=away), store) as made:
            made.timeline.add_events([make_event()])
            await until(lambda: made.outcomes().get("dropped") == 1)
            assert made.waiting == 0
    assert "notifications_dropped" in [line["event"] for line in logs]
    assert store.list_documents(WAITING) == []


async def test_a_rise_in_severity_is_notified(receiver: Receiver, store: SqliteStore) -> None:
    """A warning that becomes critical is sent; other changes are not."""
    event = make_event("disk_full")
    async with running(webhook(receiver), store) as made:
        made.timeline.add_events([event, changed(event, after=1, confidence=0.9)])
        worse = changed(event, after=2, severity=Severity.CRITICAL)
        made.timeline.add_events([worse])
        await until(lambda: len(hosts(receiver)) == 2)
    assert [state for _, state in hosts(receiver)] == ["raised", "changed"]


def test_a_receivers_name_contains_no_secret() -> None:
    """It contains the host but not the path; another path gives another name."""
    one, other = (receiver_name("webhook", f"https://hooks.example:8443/T0{n}/secret") for n in (1, 2))
    assert one.startswith("webhook:hooks.example:8443#")
    assert "secret" not in one
    assert one != other
    assert receiver_name("alertmanager", "http://am:9093/") == "alertmanager:am:9093"


async def test_an_invalid_link_is_left_out(receiver: Receiver, store: SqliteStore) -> None:
    """Alertmanager would reject every alert with an address without a scheme: it is logged and not sent."""
    with structlog.testing.capture_logs() as logs:
        settings = NotifySettings(external_url="flyball.example", alertmanager=alertmanager(receiver).alertmanager)
        async with running(settings, store) as made:
            made.timeline.add_events([make_event()])
            await until(receiver.posts)
    check_alerts(receiver.posts()[0].json)
    assert "generatorURL" not in receiver.posts()[0].json[0]
    assert [line["key"] for line in logs if line["event"] == "link_ignored"] == ["notify.external_url"]
