"""Notifications while collectors are killed and receivers are away: nothing lost, nothing left open."""

import sqlite3
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.alertmanager_schema import check_alerts, moment
from tests.processes import Collector, wait_for
from tests.raw_agent import RawAgent
from tests.receiver import Receiver

pytestmark = pytest.mark.faults


def notified(receiver: Receiver) -> list[tuple[str, str, str]]:
    """Kind, host and state of every event that a webhook took."""
    events = (event["event"] for post in receiver.posts() for event in post.json["events"])
    return [(event["kind"], event["host"], event["state"]) for event in events]


def start(tmp_path: Path, processes: ExitStack, *urls: str, alertmanager: str = "") -> Collector:
    """A collector that notifies without waiting for company."""
    settings: dict[str, object] = {
        "not_reporting_after_seconds": 2,
        "diagnosis.health.gap_seconds": 3,
        "notify.webhook.urls": ",".join(urls),
        "notify.webhook.group_wait_seconds": 0,
        "notify.webhook.group_interval_seconds": 0,
        "notify.webhook.min_severity": "info",
        "notify.alertmanager.min_severity": "info",
        "notify.alertmanager.resend_seconds": 1,
        "notify.alertmanager.urls": alertmanager,
    }
    return processes.enter_context(Collector(tmp_path / "collector", settings)).start_ready()


def lose_a_host(collector: Collector, name: str) -> None:
    """A host that sends for a while, and is then gone without a goodbye."""
    with RawAgent(collector.grpc_port, name).open() as agent:
        agent.send_records(range(30))
        agent.wait("settled or heard", lambda a: bool(a.replies))
        wait_for("the host is known", lambda: name in str(collector.get("/api/v1/hosts")))
        time.sleep(3)


def active(collector: Collector) -> set[tuple[str, str]]:
    found = collector.get("/api/v1/conditions")["conditions"]
    return {(each["kind"], each["host"]) for each in found if each["kind"] in {"data_gap", "host_lost"}}


def test_a_killed_collector_and_an_absent_receiver_lose_nothing(tmp_path: Path, processes: ExitStack) -> None:
    """A host is lost while the receiver is away and the collector is restarted; each notification is sent once."""
    receiver = processes.enter_context(Receiver(tmp_path / "receiver"))
    collector = start(tmp_path, processes, receiver.url)
    lose_a_host(collector, "doomed")
    wait_for("the lost host is active", lambda: active(collector), seconds=120)
    before = collector.get("/api/v1/conditions")["conditions"]
    wait_for("it is stored", lambda: collector.metric("flyball_collector_events_waiting") == 0)
    collector.kill()
    collector.start_ready()
    wait_for("active conditions are loaded again", lambda: collector.get("/api/v1/conditions")["loaded"])
    again = collector.get("/api/v1/conditions")["conditions"]
    assert {each["condition"] for each in before} <= {each["condition"] for each in again}
    wait_for("one waits", lambda: (collector.metric("flyball_collector_notifications_waiting") or 0) >= 1)
    receiver.start_listening()
    wait_for(
        "all are sent",
        lambda: collector.metric("flyball_collector_notifications_waiting") == 0,
        seconds=90,
    )
    counts = Counter(notified(receiver))
    assert {state for _, host, state in counts if host == "doomed"} == {"raised"}
    assert set(counts.values()) == {1}
    events = collector.get("/api/v1/events?host=doomed&state=raised&state=cleared")["events"]
    assert len({event["id"] for event in events}) == len(events)


def test_alertmanager_learns_of_the_end(tmp_path: Path, processes: ExitStack) -> None:
    """Active problems are sent repeatedly, also after a restart; when the host is back its alert ends."""
    receiver = processes.enter_context(Receiver(tmp_path / "receiver")).start_listening()
    collector = start(tmp_path, processes, alertmanager=receiver.url)
    lose_a_host(collector, "astray")
    wait_for("the alert fires", receiver.posts, seconds=120)
    before = len(receiver.posts())
    collector.kill()
    collector.start_ready()
    wait_for("it goes on firing", lambda: len(receiver.posts()) > before + 1)
    with RawAgent(collector.grpc_port, "astray").open() as agent:
        number = 0

        def back() -> bool:
            nonlocal number
            agent.send_records(range(100 + number, 101 + number))
            number += 1
            time.sleep(0.5)
            ends = [alert for post in receiver.posts() for alert in post.json]
            return any(moment(alert["endsAt"]).timestamp() <= time.time() for alert in ends)

        wait_for("the alert ends", back, seconds=90)
    for post in receiver.posts():
        check_alerts(post.json)


def test_a_notification_is_sent_only_once(tmp_path: Path, processes: ExitStack) -> None:
    """Kills while a host is lost: each event reaches the webhook once, and the store has no leftovers of it."""
    receiver = processes.enter_context(Receiver(tmp_path / "receiver")).start_listening()
    collector = start(tmp_path, processes, receiver.url)
    lose_a_host(collector, "gone")
    wait_for("the notification arrives", lambda: notified(receiver), seconds=120)
    for _ in range(4):
        wait_for(
            "that is written",
            lambda: (
                collector.metric("flyball_collector_events_waiting") == 0
                and collector.metric("flyball_collector_notifications_waiting") == 0
            ),
        )
        collector.kill()
        collector.start_ready()
        time.sleep(1)
    assert set(Counter(notified(receiver)).values()) == {1}
    collector.stop()
    connection = sqlite3.connect(collector.database)
    left = connection.execute("SELECT count(*) FROM documents WHERE kind = 'notification'").fetchone()
    connection.close()
    assert left == (0,)
