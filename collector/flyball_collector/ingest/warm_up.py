"""Fills the fleet at start-up with the known hosts and their last minutes from the store."""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields, replace
from itertools import chain, groupby
from typing import Any, NamedTuple, TypeVar

import msgspec
import numpy as np
import structlog
from google.protobuf.message import DecodeError
from numpy.typing import NDArray

from flyball_collector.blocks.block import RowGroup
from flyball_collector.blocks.codec import decode, decode_columns
from flyball_collector.blocks.errors import BlockError
from flyball_collector.fleet.events import HostEvent, add_events, merge_events
from flyball_collector.fleet.fleet import Fleet, FleetFull
from flyball_collector.ingest.clock import Clock
from flyball_collector.ingest.definitions import Definitions
from flyball_collector.ingest.known_host import KnownHost
from flyball_collector.ingest.rejection import Malformed
from flyball_collector.store.contract import Document, Store, StoreError
from flyball_collector.store.definitions import definition_id
from flyball_collector.tick import KnownLayout
from flyball_proto.v1 import telemetry_pb2 as pb

log = structlog.get_logger()

WINDOW_NS = 300 * 1_000_000_000
_SEEN_NS = 1200 * 1_000_000_000  # a host's document is written every ten minutes, so one twice as old may be connected
_AT_ONCE = 16  # hosts that one thread reads: each switch between threads waits for the interpreter
_RETRY_SECONDS = 2.0
_ATTEMPTS = 30

_ARRAYS = tuple(field.name for field in fields(RowGroup) if field.name not in {"layout", "extras"})
T = TypeVar("T")


class StoredHistory(NamedTuple):
    """A host's last minutes from the store."""

    newest: list[tuple[KnownLayout, RowGroup]]
    rows: list[tuple[KnownLayout, RowGroup]]  # only the columns that have a window
    events: tuple[HostEvent, ...]


class WarmUp:
    """Reads in threads and fills the fleet on the event loop. Live ticks may arrive in between."""

    def __init__(
        self, store: Store, fleet: Fleet, clock: Clock, forget_after_ns: int, definitions: Definitions
    ) -> None:
        self._store = store
        self._fleet = fleet
        self._clock = clock
        self._forget_after_ns = forget_after_ns
        self._definitions = definitions
        self._layouts: dict[int, KnownLayout | None] = {}
        self._columns: dict[int, NDArray[np.intp]] = {}

    async def run(self) -> None:
        """Fill the fleet from the store. Retry for a minute if the store is down."""
        for _ in range(_ATTEMPTS):
            try:
                hosts = await self._hosts()
                for first in range(0, len(hosts), _AT_ONCE):
                    await self._fill(hosts[first : first + _AT_ONCE])
            except StoreError as error:
                log.debug("warm_up_retry", error=str(error))
                await asyncio.sleep(_RETRY_SECONDS)
            else:
                log.debug("warmed", hosts=len(hosts))
                return
        log.warning("warm_up_failed", remedy="the store did not answer; windows fill as records arrive")

    async def _hosts(self) -> list[str]:
        """Add every stored host to the fleet. Return those that may have reported recently."""
        now = self._clock.time_ns()
        recent = []
        for document in await asyncio.to_thread(self._store.list_documents, "host"):
            known = _parsed(document, lambda body: msgspec.json.decode(body, type=KnownHost))
            if known is None or known.last_seen_ns < now - self._forget_after_ns:
                continue
            try:
                state = self._fleet.ensure(document.id)
            except FleetFull:
                log.warning("hosts_skipped", remedy="raise limits.hosts, or remove old hosts")
                break
            if not state.connected:
                state.agent_version, state.boot_id = known.agent_version, known.boot_id
                state.interval_ms, state.goodbye = known.interval_ms, known.goodbye
                state.received_ns = max(state.received_ns, known.last_seen_ns)
            if known.last_seen_ns >= now - _SEEN_NS:
                recent.append(document.id)
        for document in await asyncio.to_thread(self._store.list_documents, "inventory"):
            host = self._fleet.get(document.id)
            if host is not None and host.inventory is None:
                host.inventory = _parsed(document, pb.Inventory.FromString)
        return recent

    async def _fill(self, names: Sequence[str]) -> None:
        now = self._clock.time_ns()
        histories = await asyncio.to_thread(lambda: [self._read(name, now) for name in names])
        for name, history in zip(names, histories, strict=True):
            state = self._fleet.get(name)
            if state is None:
                continue
            for layout, group in history.newest:
                self._definitions.recall(layout)
                self._fleet.restore(state, layout, group)
            for layout, group in history.rows:
                self._fleet.warm_window(state, layout, group, now)
            if history.events:
                state.events = merge_events(state.events, history.events)
            await asyncio.sleep(0)

    def _read(self, name: str, now_ns: int) -> StoredHistory:
        """Read a host's last minutes. Of all but the newest block only the columns with a window are read."""
        groups: list[RowGroup] = []
        newest: tuple[RowGroup, ...] = ()
        blocks = list(self._store.read_blocks(name, now_ns - WINDOW_NS, now_ns + WINDOW_NS))
        for block in blocks:
            try:
                if block is not blocks[-1]:
                    groups += decode_columns(block.payload, self._windowed)
                    continue
                newest = decode(block.payload)
                groups += map(self._pick, newest)
            except BlockError as error:
                log.warning("block_unreadable", host=name, number=block.key.number, error=str(error))
        events: tuple[HostEvent, ...] = ()
        for extras in dict.fromkeys(chain.from_iterable(group.extras.values() for group in groups)):
            events = add_events(events, extras)
        same_layouts = groupby(groups, key=lambda group: group.layout)
        return StoredHistory(self._known(newest), self._known(_joined(list(same)) for _, same in same_layouts), events)

    def _known(self, groups: Iterable[RowGroup]) -> list[tuple[KnownLayout, RowGroup]]:
        return [(layout, group) for group in groups if (layout := self._layout(group.layout)) is not None]

    def _pick(self, group: RowGroup) -> RowGroup:
        columns = self._windowed(group.layout)
        return replace(group, values=group.values[:, columns], valid=group.valid[:, columns])

    def _windowed(self, digest: int) -> NDArray[np.intp]:
        """Return the columns of a layout that have a window."""
        columns = self._columns.get(digest)
        if columns is None:
            layout = self._layout(digest)
            columns = np.empty(0, dtype=np.intp) if layout is None else self._fleet.window.window_columns(layout)
            self._columns[digest] = columns
        return columns

    def _layout(self, digest: int) -> KnownLayout | None:
        if digest not in self._layouts:
            self._layouts[digest] = self._definitions.layout(digest) or self._find(digest)
        return self._layouts[digest]

    def _find(self, digest: int) -> KnownLayout | None:
        document = self._store.get_document("layout", definition_id(digest))
        try:
            return None if document is None else self._definitions.read_layout(document.body, digest)
        except Malformed as error:
            log.warning("layout_unreadable", id=definition_id(digest), error=str(error))
            return None


def _joined(groups: Sequence[RowGroup]) -> RowGroup:
    """Concatenate rows of one layout, without extras, because sequences may come from several epochs."""
    arrays: dict[str, Any] = {name: np.concatenate([getattr(group, name) for group in groups]) for name in _ARRAYS}
    return replace(groups[0], extras={}, **arrays)


def _parsed(document: Document, parse: Callable[[bytes], T]) -> T | None:
    """Parse a document. Return `None` if it is damaged."""
    try:
        return parse(document.body)
    except (msgspec.DecodeError, DecodeError) as error:
        log.warning("document_unreadable", kind=document.kind, id=document.id, error=str(error))
        return None
