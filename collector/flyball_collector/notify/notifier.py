"""All receivers: their settings, the entries that each gets, and what the store has for them."""

import asyncio
import random
from collections.abc import Callable, Iterable, Iterator
from hashlib import blake2s
from urllib.parse import urlsplit

import structlog

from flyball_collector.diagnosis.kinds import Severity
from flyball_collector.notify.alert_text import Links, no_runs
from flyball_collector.notify.alertmanager import PATH, AlertmanagerPlan, as_reported
from flyball_collector.notify.conditions import NotifiedConditions
from flyball_collector.notify.http_post import Target
from flyball_collector.notify.outbox import NOTIFIED, WAITING, Outbox
from flyball_collector.notify.sender import NotificationSender, Receiver
from flyball_collector.notify.settings import NotifySettings
from flyball_collector.notify.silences import SILENCE, Silences
from flyball_collector.notify.webhook import WebhookPlan
from flyball_collector.own_metrics import OwnMetrics
from flyball_collector.store.contract import Document, Store, StoreError
from flyball_collector.timeline.active_entries import ActiveEntries
from flyball_collector.timeline.entry import Entry
from flyball_collector.timeline.entry_documents import Name, Put
from flyball_collector.timeline.journal import Journal

_log = structlog.get_logger(__name__)

_MAX_DELAY_SECONDS = 10.0


class Notifier:
    """Listens to the timeline. Call `load` before the first entry, then `run`."""

    def __init__(
        self,
        settings: NotifySettings,
        journal: Journal,
        active: ActiveEntries,
        store: Store,
        metrics: OwnMetrics,
        clock: Callable[[], int],
        runs: Callable[[Entry], str] = no_runs,
        live: Callable[[Entry], Entry] = as_reported,
    ) -> None:
        self.silences = Silences()
        self.loaded = asyncio.Event()
        self._ended: list[Entry] = []
        self._journal = journal
        self._active = NotifiedConditions(active)
        self._store = store
        self._clock = clock
        addresses = _checked("external_url", settings.external_url), _checked("runbook_url", settings.runbook_url)
        links = Links(*addresses, runs)
        self.senders = tuple(
            NotificationSender(
                receiver, Outbox(receiver.name, minimum), plan, journal, self._active, self.silences, metrics, clock
            )
            for receiver, minimum, plan in (*_alertmanagers(settings, links, live), *_webhooks(settings, links))
        )

    def entry_added(self, entry: Entry, before: Entry | None) -> list[Put]:
        """Return the documents to write with an entry, so that every receiver gets it even after a restart."""
        puts: list[Put] = []
        for sender in self.senders:
            wanted = sender.outbox.take(entry, before, self._clock())
            if wanted:
                puts += wanted
                sender.wake()
        return puts

    def load_adjustments(self, active: Iterable[Entry], ended: Iterable[Entry]) -> None:
        """Take the conditions about adjustments from before a restart, before `load`.

        The ends are sent to receivers that know the conditions.
        """
        self._active.of_adjustments.load(active)
        self._ended += ended

    def report(self, entry: Entry) -> None:
        """Notify of a condition that is not in the timeline: one about an adjustment."""
        puts = self.entry_added(entry, self._active.of_adjustments.update(entry))
        if puts:
            self._journal.add(puts)

    async def load(self) -> None:
        """Load waiting notifications from the store, and queue active conditions that were never notified."""
        delay = 0.25
        while (found := await asyncio.to_thread(self._stored)) is None:
            await asyncio.sleep(random.uniform(0.1, 1.0) * delay)  # noqa: S311  jitter, not a secret
            delay = min(2 * delay, _MAX_DELAY_SECONDS)
        waiting, notified, silences = found
        self.silences.load(document.body for document in silences)
        outdated: list[Name] = [(SILENCE, silence.id) for silence in self.silences.expired(self._clock())]
        outdated += self._distribute(waiting, notified)
        if outdated:
            self._journal.add((), outdated)
        for entry in self._ended:
            self.report(entry)
        self._ended.clear()
        active = {entry.condition for entry in self._active.all()}
        for sender in self.senders:
            stale = [c for c in sender.outbox.notified if c not in active and not sender.outbox.waits_for(c)]
            self._journal.add((), sender.outbox.forget_notified(stale))
        for entry in self._active.all():
            if puts := self._catch_up(entry):
                self._journal.add(puts)
        self.loaded.set()

    async def run(self) -> None:
        """Run until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            for sender in self.senders:
                tasks.create_task(sender.run(), name=f"notify {sender.receiver.name}")

    def shut_down(self) -> None:
        """Release all threads."""
        for sender in self.senders:
            sender.shut_down()

    def _distribute(self, waiting: list[Document], notified: list[Document]) -> list[Name]:
        """Give each sender its documents. Return those of receivers that no longer exist."""
        known = {sender.receiver.name for sender in self.senders}
        for sender in self.senders:
            name = sender.receiver.name
            sender.outbox.load(_of(name, waiting), _of(name, notified))
            sender.wake()
        lost = [document for document in (*waiting, *notified) if document.id.partition("/")[0] not in known]
        undelivered = {document.id.partition("/")[0] for document in lost if document.kind == WAITING}
        if undelivered:
            _log.warning("receivers_removed", receivers=sorted(undelivered), documents=len(lost))
        return [(document.kind, document.id) for document in lost]

    def _catch_up(self, entry: Entry) -> list[Put]:
        """Queue an active condition for receivers that do not know it."""
        now_ns = self._clock()
        new = (sender for sender in self.senders if not sender.outbox.knows(entry.condition))
        return [put for sender in new for put in sender.outbox.take(entry, None, now_ns)]

    def _stored(self) -> tuple[list[Document], list[Document], list[Document]] | None:
        try:
            waiting = self._store.list_documents(WAITING)
            return waiting, self._store.list_documents(NOTIFIED), self._store.list_documents(SILENCE)
        except StoreError as error:
            _log.error("loading_notifications_failed", error=str(error))
            return None


def _alertmanagers(
    settings: NotifySettings, links: Links, live: Callable[[Entry], Entry]
) -> Iterator[tuple[Receiver, Severity, AlertmanagerPlan | WebhookPlan]]:
    own = settings.alertmanager
    minimum = Severity[own.min_severity.upper()]
    for url in dict.fromkeys(own.urls):
        target = Target(url.rstrip("/") + PATH, own.ca_file, own.authorization_file, settings.time_limit_seconds)
        receiver = Receiver(receiver_name("alertmanager", url), target, keep_hours=settings.keep_hours)
        yield receiver, minimum, AlertmanagerPlan(own.resend_seconds, minimum, links, live)


def _webhooks(
    settings: NotifySettings, links: Links
) -> Iterator[tuple[Receiver, Severity, AlertmanagerPlan | WebhookPlan]]:
    own = settings.webhook
    minimum = Severity[own.min_severity.upper()]
    for url in dict.fromkeys(own.urls):
        name = receiver_name("webhook", url)
        target = Target(url, own.ca_file, own.authorization_file, settings.time_limit_seconds)
        plan = WebhookPlan(name, own.group_by, own.group_wait_seconds, own.group_interval_seconds, links)
        receiver = Receiver(name, target, own.secret_file, settings.keep_hours, inhibits=True)
        yield receiver, minimum, plan


def receiver_name(kind: str, url: str) -> str:
    """Return a name from the address without its path, which may be secret: webhook:hooks.example#1f2e3d."""
    parts = urlsplit(url)
    digest = blake2s(url.encode(), digest_size=3).hexdigest()
    return f"{kind}:{parts.netloc}" + (f"#{digest}" if parts.path.strip("/") or parts.query else "")


def _checked(key: str, url: str) -> str:
    """Return the address, or an empty one if it is invalid, because Alertmanager rejects alerts with invalid links."""
    if not url or urlsplit(url).scheme in {"http", "https"}:
        return url
    _log.warning(
        "link_ignored", key=f"notify.{key}", value=url, remedy="use an address that begins with https:// or http://"
    )
    return ""


def _of(receiver: str, documents: list[Document]) -> dict[str, bytes]:
    prefix = f"{receiver}/"
    return {d.id.removeprefix(prefix): d.body for d in documents if d.id.startswith(prefix)}
