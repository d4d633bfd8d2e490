"""Keeps the totals of lost GPU time in the store, so that they continue after a restart."""

import asyncio
import time
from collections.abc import Callable, Mapping

import msgspec
import numpy as np
import structlog
from numpy.typing import NDArray

from flyball_collector.diagnosis.waste import NAMES, WasteLedger
from flyball_collector.diagnosis.waste_totals import by_name
from flyball_collector.store.contract import Store, StoreError

_log = structlog.get_logger(__name__)

KIND, ID = "waste", "totals"
EVERY_SECONDS = 60.0
_RETRY_SECONDS = 10.0


class Totals(msgspec.Struct, frozen=True):
    """The stored document: seconds by host or run, and by cause."""

    hosts: dict[str, dict[str, float]] = {}
    runs: dict[str, dict[str, float]] = {}


class WasteKeeper:
    """Loads the totals once, then saves changes every minute. It never overwrites stored totals before loading them."""

    def __init__(
        self,
        ledger: WasteLedger,
        store: Store,
        *,
        every_seconds: float = EVERY_SECONDS,
        retry_seconds: float = _RETRY_SECONDS,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._ledger = ledger
        self._store = store
        self._every_seconds = every_seconds
        self._retry_seconds = retry_seconds
        self._now = now
        self._loaded = False
        self._failing = False
        self._written = b""

    async def run(self) -> None:
        """Load and save until cancelled."""
        while True:
            loaded = await self.load()
            await asyncio.sleep(self._every_seconds if loaded else self._retry_seconds)
            await self.save()

    async def load(self) -> bool:
        """Add the stored totals to those counted since the start. Return False if the store is not available."""
        if self._loaded:
            return True
        try:
            document = await asyncio.to_thread(self._store.get_document, KIND, ID)
        except StoreError as error:
            self._fail(error)
            return False
        self._add(document.body if document is not None else b"")
        self._loaded = True
        return True

    async def save(self) -> None:
        """Save the totals if they changed."""
        if not self._loaded:
            return
        body = encode(self._ledger)
        if body == self._written:
            return
        try:
            await asyncio.to_thread(self._store.put_document, KIND, ID, body)
        except StoreError as error:
            self._fail(error)
            return
        self._written, self._failing = body, False

    def _add(self, body: bytes) -> None:
        try:
            totals = msgspec.json.decode(body, type=Totals) if body else Totals()
        except msgspec.DecodeError as error:
            _log.warning("waste_unreadable", reason=str(error))
            return
        for host, lost in totals.hosts.items():
            self._ledger.hosts.put(host, _seconds(lost), self._now())
        for run, lost in totals.runs.items():
            self._ledger.runs.put(run, _seconds(lost), self._now())
        self._written = body

    def _fail(self, error: StoreError) -> None:
        if not self._failing:
            _log.warning("waste_not_saved", reason=str(error))
        self._failing = True


def encode(ledger: WasteLedger) -> bytes:
    """Return the totals as the document to store."""
    hosts = {host: by_name(NAMES, lost) for host, lost in ledger.hosts.all().items()}
    runs = {run: by_name(NAMES, lost) for run, lost in ledger.runs.all().items()}
    return msgspec.json.encode(Totals(hosts, runs), order="sorted")


def _seconds(lost: Mapping[str, float]) -> NDArray[np.float64]:
    """Return the seconds along the causes. Causes that only a newer version knows are left out."""
    return np.array([max(0.0, lost.get(name, 0.0)) for name in NAMES])
