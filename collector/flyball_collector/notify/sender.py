"""Delivers waiting notifications to one receiver, and retries with growing delays while it fails."""

import asyncio
import random
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import structlog

from flyball_collector.diagnosis.event import State
from flyball_collector.notify.conditions import NotifiedConditions
from flyball_collector.notify.http_post import Answer, PostError, Target, origin, post, secret
from flyball_collector.notify.inhibitions import Inhibited
from flyball_collector.notify.message import Message, MessagePlan
from flyball_collector.notify.outbox import Outbox
from flyball_collector.notify.silences import Silences
from flyball_collector.notify.webhook import SIGNATURE, signature
from flyball_collector.own_metrics import OwnMetrics
from flyball_collector.timeline.entry import Entry
from flyball_collector.timeline.journal import Journal

_log = structlog.get_logger(__name__)

CHECK_SECONDS = 0.5
FIRST_DELAY_SECONDS = 1.0
MAX_DELAY_SECONDS = 60.0

REFUSED = frozenset({400, 413, 415, 422})
"""The receiver rejects the message itself, so a retry would not help. Other failures may pass."""

OUTCOMES = ("delivered", "failed", "refused", "silenced", "inhibited", "dropped")


@dataclass(frozen=True, slots=True)
class Receiver:
    """The address of a receiver, and its settings."""

    name: str
    target: Target
    secret_file: str = ""
    keep_hours: float = 168.0
    inhibits: bool = False  # hold back what another condition explains; Alertmanager does that by itself


class NotificationSender:
    """The task of one receiver. Its outbox changes only on the event loop; requests are sent in its own thread."""

    def __init__(
        self,
        receiver: Receiver,
        outbox: Outbox,
        plan: MessagePlan,
        journal: Journal,
        active: NotifiedConditions,
        silences: Silences,
        metrics: OwnMetrics,
        clock: Callable[[], int],
    ) -> None:
        self.receiver = receiver
        self.outbox = outbox
        self._plan = plan
        self._journal = journal
        self._entries = active
        self._silences = silences
        self._clock = clock
        self._count = {outcome: metrics.notifications.labels(receiver.name, outcome) for outcome in OUTCOMES}
        self._waiting = metrics.notifications_waiting.labels(receiver.name)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=f"notify-{receiver.name}")
        self._wake = asyncio.Event()
        self._one_by_one: set[str] = set()  # entries of a rejected message, which are then sent one by one
        self._failures = 0

    def wake(self) -> None:
        """Note that a new entry waits."""
        self._waiting.set(len(self.outbox.waiting))
        self._wake.set()

    async def run(self) -> None:
        """Run until cancelled."""
        while True:
            if not await self.step():
                await self._pause(CHECK_SECONDS)

    async def step(self) -> bool:
        """Send one message, if one is due. Return False if there is nothing to do now."""
        self._drop_outdated()
        message = self._next()
        self._waiting.set(len(self.outbox.waiting))
        if message is None:
            return False
        try:
            answer = await self._post(message)
        except PostError as error:
            await self._failed(str(error))
            return True
        if 200 <= answer.status < 300:
            self._delivered(message)
        elif answer.status in REFUSED:
            self._refused(message, answer)
        else:
            where = origin(self.receiver.target.url)
            await self._failed(f"{where} responded with {answer.status} {answer.text}".strip())
        return True

    def shut_down(self) -> None:
        """Release the thread. A call that hangs is abandoned."""
        self._thread.shutdown(wait=False, cancel_futures=True)

    def _next(self) -> Message | None:
        now_ns = self._clock()
        rejected = next((entry for entry in self.outbox.entries() if entry.id in self._one_by_one), None)
        if rejected is not None:
            return self._plan.message([rejected], list, self.outbox.notified, now_ns, hurry=True)
        self._one_by_one.clear()
        waiting = [entry for entry in self.outbox.entries() if not self._is_silenced(entry, now_ns)]
        if waiting and self.receiver.inhibits:
            inhibited = Inhibited(self._entries.all())
            waiting = [entry for entry in waiting if not self._is_muted(entry, inhibited)]
        return self._plan.message(waiting, self._active, self.outbox.notified, now_ns, hurry=False)

    def _active(self) -> list[Entry]:
        now_ns = self._clock()
        return [entry for entry in self._entries.all() if self._silences.silence_of(entry, now_ns) is None]

    def _is_silenced(self, entry: Entry, now_ns: int) -> bool:
        """Return True if a silence mutes the entry. The end of a condition that was notified is never muted."""
        notified = entry.condition in self.outbox.notified
        return not (notified and entry.state == State.CLEARED) and self._silences.silence_of(entry, now_ns) is not None

    def _is_muted(self, entry: Entry, inhibited: Inhibited) -> bool:
        """Return True if another condition mutes the entry. The end of a condition that was notified is never muted."""
        notified = entry.condition in self.outbox.notified
        return not (notified and entry.state == State.CLEARED) and inhibited.mutes(entry)

    def _drop_outdated(self) -> None:
        """Drop conditions that ended while silenced or inhibited, and entries that have waited too long."""
        now_ns = self._clock()
        ended = {
            entry.condition
            for entry in self.outbox.entries()
            if entry.state == State.CLEARED and self._is_silenced(entry, now_ns)
        }
        self._give_up([entry.id for entry in self.outbox.entries() if entry.condition in ended], "silenced")
        if self.receiver.inhibits and any(entry.state == State.CLEARED for entry in self.outbox.entries()):
            inhibited = Inhibited(self._entries.all())
            over = {
                entry.condition
                for entry in self.outbox.entries()
                if entry.state == State.CLEARED and self._is_muted(entry, inhibited)
            }
            self._give_up([entry.id for entry in self.outbox.entries() if entry.condition in over], "inhibited")
        late = self.outbox.expired(now_ns - int(self.receiver.keep_hours * 3600 * 10**9))
        if late:
            _log.error("notifications_dropped", receiver=self.receiver.name, count=len(late))
            self._give_up(late, "dropped")

    def _give_up(self, ids: Sequence[str], outcome: str) -> None:
        if ids:
            self._journal.add((), self.outbox.give_up(ids))
            self._count[outcome].inc(len(ids))

    async def _post(self, message: Message) -> Answer:
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._signed_post, message)

    def _signed_post(self, message: Message) -> Answer:
        headers = dict(message.headers)
        if self.receiver.secret_file:
            headers[SIGNATURE] = signature(secret(self.receiver.secret_file), message.body)
        return post(self.receiver.target, message.body, headers)

    def _delivered(self, message: Message) -> None:
        if self._failures:
            _log.warning("receiver_recovered", receiver=self.receiver.name, failures=self._failures)
        self._failures = 0
        self._plan.sent(message, self._clock())
        self._one_by_one -= {entry.id for entry in message.entries}
        if message.entries:
            self._journal.add(*self.outbox.settle(message.entries))
            self._count["delivered"].inc(len(message.entries))

    def _refused(self, message: Message, answer: Answer) -> None:
        if len(message.entries) > 1:
            self._one_by_one = {entry.id for entry in message.entries}
            return
        ids = [entry.id for entry in message.entries]
        details = {"status": answer.status, "answer": answer.text, "events": ids}
        _log.error("notification_refused", receiver=self.receiver.name, **details)
        self._plan.sent(message, self._clock())
        self._one_by_one -= set(ids)
        if ids:
            self._give_up(ids, "refused")
        else:
            self._count["refused"].inc()

    async def _failed(self, reason: str) -> None:
        """Wait with full jitter, because many collectors must not retry at the same time."""
        if not self._failures:
            remedy = "check the receiver's address; waiting notifications are sent when it responds"
            _log.error("receiver_failed", receiver=self.receiver.name, reason=reason, remedy=remedy)
        self._count["failed"].inc()
        max_delay = min(MAX_DELAY_SECONDS, FIRST_DELAY_SECONDS * 2 ** min(self._failures, 10))
        self._failures += 1
        await asyncio.sleep(max(0.05, random.uniform(0, max_delay)))  # noqa: S311  jitter, not a secret

    async def _pause(self, seconds: float) -> None:
        self._wake.clear()
        try:
            await asyncio.wait_for(self._wake.wait(), seconds)
        except TimeoutError:
            return
