"""All receivers together: who they are, what each is handed, and what the store still holds for them."""

import asyncio
import random
from collections.abc import Callable, Iterator
from hashlib import blake2s
from urllib.parse import urlsplit

import structlog

from flyball_collector.diagnosis.kinds import Severity
from flyball_collector.notify.alertmanager import PATH, AlertmanagerPlan
from flyball_collector.notify.courier import Courier, Receiver
from flyball_collector.notify.outbox import TOLD, WAITING, Outbox
from flyball_collector.notify.post import Target
from flyball_collector.notify.settings import NotifySettings
from flyball_collector.notify.silences import SILENCE, Silences
from flyball_collector.notify.webhook import WebhookPlan
from flyball_collector.notify.words import Links
from flyball_collector.own_metrics import OwnMetrics
from flyball_collector.store.contract import Document, Store, StoreError
from flyball_collector.timeline.active_entries import ActiveEntries
from flyball_collector.timeline.documents import Name, Put
from flyball_collector.timeline.entry import Entry
from flyball_collector.timeline.journal import Journal

_log = structlog.get_logger(__name__)

_LONGEST_WAIT_SECONDS = 10.0


class Notifier:
    """Listens to the timeline. Call `load` before the timeline takes anything, then `run`."""

    def __init__(
        self,
        settings: NotifySettings,
        journal: Journal,
        active: ActiveEntries,
        store: Store,
        metrics: OwnMetrics,
        clock: Callable[[], int],
    ) -> None:
        self.silences = Silences()
        self._journal = journal
        self._active = active
        self._store = store
        self._clock = clock
        links = Links(_checked("external_url", settings.external_url), _checked("runbook_url", settings.runbook_url))
        self.couriers = tuple(
            Courier(receiver, Outbox(receiver.name, least), plan, journal, active, self.silences, metrics, clock)
            for receiver, least, plan in (*_alertmanagers(settings, links), *_webhooks(settings, links))
        )

    def hear(self, entry: Entry, before: Entry | None) -> list[Put]:
        """What is to be written with an entry, so that every receiver is told of it, whatever happens."""
        puts: list[Put] = []
        for courier in self.couriers:
            wanted = courier.outbox.take(entry, before, self._clock())
            if wanted:
                puts += wanted
                courier.wake()
        return puts

    async def load(self) -> None:
        """Take over what waits in the store, and what stands and was never told."""
        wait = 0.25
        while (found := await asyncio.to_thread(self._stored)) is None:
            await asyncio.sleep(random.uniform(0.1, 1.0) * wait)  # noqa: S311  jitter, not a secret
            wait = min(2 * wait, _LONGEST_WAIT_SECONDS)
        waiting, told, silences = found
        self.silences.load(document.body for document in silences)
        strange: list[Name] = [(SILENCE, silence.id) for silence in self.silences.over(self._clock())]
        strange += self._share_out(waiting, told)
        if strange:
            self._journal.add((), strange)
        active = {entry.condition for entry in self._active.all()}
        for courier in self.couriers:
            stale = [c for c in courier.outbox.told if c not in active and not courier.outbox.waits_for(c)]
            self._journal.add((), courier.outbox.forget_told(stale))
        for entry in self._active.all():
            if puts := self._catch_up(entry):
                self._journal.add(puts)

    async def run(self) -> None:
        """Never returns."""
        async with asyncio.TaskGroup() as tasks:
            for courier in self.couriers:
                tasks.create_task(courier.run(), name=f"notify {courier.receiver.name}")

    def shut_down(self) -> None:
        """Let go of every thread."""
        for courier in self.couriers:
            courier.shut_down()

    def _share_out(self, waiting: list[Document], told: list[Document]) -> list[Name]:
        """Each courier's part; returns the documents of receivers that are no more."""
        known = {courier.receiver.name for courier in self.couriers}
        for courier in self.couriers:
            name = courier.receiver.name
            courier.outbox.load(_of(name, waiting), _of(name, told))
            courier.wake()
        lost = [document for document in (*waiting, *told) if document.id.partition("/")[0] not in known]
        undelivered = {document.id.partition("/")[0] for document in lost if document.kind == WAITING}
        if undelivered:
            _log.warning("receivers_gone", receivers=sorted(undelivered), documents=len(lost))
        return [(document.kind, document.id) for document in lost]

    def _catch_up(self, entry: Entry) -> list[Put]:
        """A receiver that is new is told of what stands."""
        now_ns = self._clock()
        unaware = (courier for courier in self.couriers if not courier.outbox.knows(entry.condition))
        return [put for courier in unaware for put in courier.outbox.take(entry, None, now_ns)]

    def _stored(self) -> tuple[list[Document], list[Document], list[Document]] | None:
        try:
            waiting = self._store.list_documents(WAITING)
            return waiting, self._store.list_documents(TOLD), self._store.list_documents(SILENCE)
        except StoreError as error:
            _log.error("notifications_not_loaded", error=str(error))
            return None


def _alertmanagers(
    settings: NotifySettings, links: Links
) -> Iterator[tuple[Receiver, Severity, AlertmanagerPlan | WebhookPlan]]:
    mine = settings.alertmanager
    least = Severity[mine.min_severity.upper()]
    for url in dict.fromkeys(mine.urls):
        target = Target(url.rstrip("/") + PATH, mine.ca_file, mine.authorization_file, settings.time_limit_seconds)
        receiver = Receiver(receiver_name("alertmanager", url), target, keep_hours=settings.keep_hours)
        yield receiver, least, AlertmanagerPlan(mine.resend_seconds, least, links)


def _webhooks(
    settings: NotifySettings, links: Links
) -> Iterator[tuple[Receiver, Severity, AlertmanagerPlan | WebhookPlan]]:
    mine = settings.webhook
    least = Severity[mine.min_severity.upper()]
    for url in dict.fromkeys(mine.urls):
        name = receiver_name("webhook", url)
        target = Target(url, mine.ca_file, mine.authorization_file, settings.time_limit_seconds)
        plan = WebhookPlan(name, mine.group_by, mine.group_wait_seconds, mine.group_interval_seconds, links)
        yield Receiver(name, target, mine.secret_file, settings.keep_hours), least, plan


def receiver_name(kind: str, url: str) -> str:
    """Stays with the address, and tells nothing of a path, which may be a secret: webhook:hooks.example#1f2e3d."""
    parts = urlsplit(url)
    digest = blake2s(url.encode(), digest_size=3).hexdigest()
    return f"{kind}:{parts.netloc}" + (f"#{digest}" if parts.path.strip("/") or parts.query else "")


def _checked(key: str, url: str) -> str:
    """Alertmanager refuses alerts whose link is none."""
    if not url or urlsplit(url).scheme in {"http", "https"}:
        return url
    _log.warning("link_ignored", key=f"notify.{key}", value=url, remedy="begin it with https:// or http://")
    return ""


def _of(receiver: str, documents: list[Document]) -> dict[str, bytes]:
    prefix = f"{receiver}/"
    return {d.id.removeprefix(prefix): d.body for d in documents if d.id.startswith(prefix)}
