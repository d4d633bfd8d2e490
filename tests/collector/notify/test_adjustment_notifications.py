"""Adjustments reach real receivers: a real governor whose ranks answer, a real notifier, real sockets."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

from flyball_collector.adjustments.settings import AdjustmentsSettings
from flyball_collector.adjustments.shown.alerts import follow_adjustments
from flyball_collector.http.adjustment_testing import AdjustableTraining
from flyball_collector.notify.outbox import NOTIFIED, WAITING
from flyball_collector.notify.settings import NotifySettings
from flyball_collector.notify.silences import Silence, check_matchers
from flyball_collector.store.contract import Store
from flyball_collector.store.sqlite import SqliteStore
from tests.alertmanager_schema import check_alerts
from tests.collector.notify.running_notifier import RunningNotifier, alertmanager, until, webhook
from tests.receiver import Receiver

HOUR = 3600 * 10**9
ASK = AdjustmentsSettings(enabled=True, policy="ask", watch_steps=20)


async def training() -> AdjustableTraining:
    return await AdjustableTraining(settings=ASK).begin()


@contextlib.asynccontextmanager
async def notifying(
    training: AdjustableTraining, settings: NotifySettings, store: Store
) -> AsyncIterator[RunningNotifier]:
    """Run the notifier beside the governor, as the collector does."""
    made = RunningNotifier(settings, store)
    run = follow_adjustments(training.governor, made.notifier, training.training.clock)
    await made.timeline.load()
    await made.notifier.load()
    tasks = [asyncio.create_task(each) for each in (made.timeline.run(), made.notifier.run(), run())]
    try:
        yield made
    finally:
        tasks[1].cancel()
        tasks[2].cancel()
        made.timeline.close()
        await asyncio.gather(*tasks, return_exceptions=True)
        made.notifier.shut_down()
        made.timeline.journal.shut_down()


def events(receiver: Receiver) -> list[dict[str, Any]]:
    return [each for post in receiver.posts() for each in post.json["events"]]


def states(receiver: Receiver) -> list[tuple[str, str, str]]:
    return [tuple(each["event"][name] for name in ("kind", "state", "severity")) for each in events(receiver)]


def slow_down(run: AdjustableTraining) -> None:
    """Let a person change a value, after which the run is much slower, so that the change is taken back."""
    run.play(60)
    proposed = run.governor.propose("r", "workers", 4, who="otto")
    run.answer()
    for _ in range(12):
        run.play(10, step_seconds=0.4)
        run.answer()
    assert run.governor.get(proposed.id).state == "rolled_back"  # type: ignore[union-attr]


async def test_a_roll_back_is_a_warning_for_an_hour(receiver: Receiver, store: SqliteStore) -> None:
    """A webhook gets it once with what was measured, and its end an hour later; then no document is left."""
    run = await training()
    async with notifying(run, webhook(receiver), store) as made:
        slow_down(run)
        await until(lambda: events(receiver))
        (raised,) = events(receiver)
        assert raised["alert"] == "FlyballAdjustmentRolledBack"
        assert raised["summary"] == "An adjustment was taken back because it did harm."
        assert "workers 2 → 4 taken back because it did harm, -" in raised["description"]
        await until(lambda: store.list_documents(NOTIFIED))
        run.training.clock.now_ns += HOUR
        await until(lambda: len(events(receiver)) == 2)
        await until(lambda: not made.waiting)
    assert states(receiver) == [
        ("adjustment_rolled_back", "raised", "warning"),
        ("adjustment_rolled_back", "cleared", "warning"),
    ]
    assert store.list_documents(WAITING) == store.list_documents(NOTIFIED) == []


async def test_alertmanager_gets_a_roll_back_again_and_again(receiver: Receiver, store: SqliteStore) -> None:
    """It is sent again while active, also after a restart; its labels are those of the alert of Prometheus."""
    run = await training()
    settings = alertmanager(receiver, resend_seconds=1.0)
    async with notifying(run, settings, store):
        slow_down(run)
        await until(lambda: len(receiver.posts()) >= 2)
        await until(lambda: store.list_documents(NOTIFIED))
    before = len(receiver.posts())
    async with notifying(run, settings, store):
        await until(lambda: len(receiver.posts()) > before)
    for post in receiver.posts():
        check_alerts(post.json)
        (alert,) = post.json
        assert alert["labels"] == {
            "alertname": "FlyballAdjustmentRolledBack",
            "kind": "adjustment_rolled_back",
            "severity": "warning",
            "run": "r",
            "resource": "workers",
        }


async def test_a_proposal_is_sent_only_to_receivers_of_information(receiver: Receiver, store: SqliteStore) -> None:
    """With the minimum info, it is raised with the command to approve it, and cleared when it is decided."""
    run = await training()
    async with notifying(run, webhook(receiver), store) as made:
        run.propose()
        await asyncio.sleep(1.2)  # longer than a round of the alerts
        assert made.waiting == 0
    assert receiver.posts() == []
    async with notifying(run, webhook(receiver, min_severity="info"), store):
        await until(lambda: events(receiver))
        (proposed,) = run.governor.find(state="proposed")
        assert f"flyball adjust approve {proposed.id}" in events(receiver)[0]["description"]
        run.governor.veto(proposed.id, "otto", "not now")
        await until(lambda: len(events(receiver)) == 2)
    assert states(receiver) == [("adjustment_proposed", "raised", "info"), ("adjustment_proposed", "cleared", "info")]
    assert "not now" in events(receiver)[1]["description"]


async def test_a_decision_while_no_notifier_runs_is_sent_after_the_start(
    receiver: Receiver, store: SqliteStore
) -> None:
    """Receivers that know the proposal get its end; others get nothing."""
    run = await training()
    settings = webhook(receiver, min_severity="info")
    async with notifying(run, settings, store):
        run.propose()
        await until(lambda: store.list_documents(NOTIFIED))
    run.governor.veto(run.governor.find(state="proposed")[0].id, "otto")
    async with notifying(run, settings, store) as made:
        await until(lambda: len(events(receiver)) == 2)
        await until(lambda: not made.waiting)
    assert [state for _, state, _ in states(receiver)] == ["raised", "cleared"]
    assert store.list_documents(WAITING) == store.list_documents(NOTIFIED) == []


async def test_silences_hold_back_adjustments(receiver: Receiver, store: SqliteStore) -> None:
    """A silence may name their kinds; when it ends, the condition is sent if it is still active."""
    matchers = {"kind": "adjustment_*", "run": "r"}
    check_matchers(matchers)
    run = await training()
    async with notifying(run, webhook(receiver, min_severity="info"), store) as made:
        made.notifier.silences.add(Silence(id="s", matchers=matchers, created_ns=0, until_ns=2**62))
        run.propose()
        await until(lambda: made.waiting == 1)
        await asyncio.sleep(0.7)  # longer than a round of the sender
        assert receiver.posts() == []
        made.notifier.silences.remove("s")
        await until(lambda: events(receiver))
    assert states(receiver) == [("adjustment_proposed", "raised", "info")]
