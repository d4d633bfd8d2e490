"""Stored rows of hosts as a recording: every reading, step, event and definition."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np
from google.protobuf.message import DecodeError

from flyball_collector.blocks.block import RowGroup
from flyball_collector.engine.player import Recording, RecordingContext, usual_intervals
from flyball_collector.replay.errors import ReplayError
from flyball_collector.tick import KnownLayout, Tick
from flyball_proto.errors import WireError
from flyball_proto.layout import Layout
from flyball_proto.unavailable_reading import parse_unavailable
from flyball_proto.v1 import telemetry_pb2 as pb

MAX_COLUMNS = 1_000_000
"""Of all layouts together. Each column takes about 0.4 KB."""
HOLD_SECONDS = 2.5
"""For as long as a live reading is valid."""

Find = Callable[[str, int], bytes | None]
"""Returns the body of a definition by kind (layout, unavailable readings, tenancy) and digest."""


@dataclass(frozen=True, slots=True)
class HostRows:
    """The recorded data of one host."""

    host: str
    groups: tuple[RowGroup, ...]
    inventory: pb.Inventory | None = None


@dataclass(slots=True)
class _Reader:
    """Parses each definition once. Missing and damaged ones are left out."""

    find: Find
    layouts: dict[int, KnownLayout | None] = field(default_factory=dict)
    context: RecordingContext = field(default_factory=RecordingContext)
    columns: int = 0  # of all layouts

    def layout(self, digest: int, columns: int) -> KnownLayout | None:
        """Return a layout, if it is known and has as many columns as its rows."""
        if digest not in self.layouts:
            self.columns += columns
            if self.columns > MAX_COLUMNS:
                raise ReplayError(f"more than {MAX_COLUMNS:,} columns; choose fewer hosts")
            body = self.find("layout", digest)
            self.layouts[digest] = _known(body, digest, columns) if body is not None else None
        found = self.layouts[digest]
        return found if found is not None and found.count == columns else None

    def load_definitions(self, unavailable: int, tenancy: int) -> None:
        """Load these definitions, if they are new."""
        if (
            unavailable
            and unavailable not in self.context.unavailable
            and (body := self.find("unavailable", unavailable))
        ):
            try:
                self.context.unavailable[unavailable] = parse_unavailable(body)
            except WireError:
                self.context.unavailable[unavailable] = ()
        if tenancy and tenancy not in self.context.tenancies and (body := self.find("tenancy", tenancy)):
            try:
                self.context.tenancies[tenancy] = pb.Tenancy.FromString(body)
            except DecodeError:
                self.context.tenancies[tenancy] = pb.Tenancy()


def recording_of(hosts: Iterable[HostRows], find: Find) -> Recording:
    """Return rows of hosts in rising time. Rows with an unknown layout are left out."""
    reader = _Reader(find)
    ticks: list[Tick] = []
    for each in hosts:
        if each.inventory is not None:
            reader.context.inventories[each.host] = each.inventory
        ticks += _ticks(each, reader)
    ticks.sort(key=lambda tick: (tick.corrected_ns, tick.host))
    return Recording(ticks, _intervals(ticks), HOLD_SECONDS, reader.context)


def _ticks(rows: HostRows, reader: _Reader) -> Iterator[Tick]:
    """Yield one tick for each row. A row that is in two pieces of one block is used once."""
    seen: set[tuple[int, int]] = set()
    order = 0
    for group in sorted(rows.groups, key=lambda group: int(group.corrected_ns[0]) if len(group.corrected_ns) else 0):
        layout = reader.layout(group.layout, group.values.shape[1])
        for row in range(len(group.sequences) if layout is not None else 0):
            key = (int(group.agent_ns[row]), int(group.sequences[row]))
            if layout is None or key in seen:
                continue
            seen.add(key)
            reader.load_definitions(int(group.unavailable[row]), int(group.tenancy[row]))
            yield _tick(rows.host, group, row, layout, order)
            order += 1


def _tick(host: str, group: RowGroup, row: int, layout: KnownLayout, order: int) -> Tick:
    return Tick(
        host=host,
        epoch=b"recorded" * 2,
        sequence=order,  # epochs may change in between, so the order counts
        layout=layout,
        values=group.values[row],
        valid=group.valid[row],
        agent_ns=int(group.agent_ns[row]),
        boot_ns=int(group.boot_ns[row]),
        corrected_ns=int(group.corrected_ns[row]),
        received_ns=int(group.corrected_ns[row]),  # late data are replayed at their time of measurement
        unavailable=int(group.unavailable[row]),
        tenancy=int(group.tenancy[row]),
        extras=group.extras.get(int(group.sequences[row]), b""),  # parsed when it is played: messages take more memory
        live=True,
    )


def _known(body: bytes, digest: int, columns: int) -> KnownLayout | None:
    try:
        if len(pb.Layout.FromString(body).columns) != columns:  # checked first, as our own columns take more memory
            return None
        layout = Layout.parse(body)
    except (DecodeError, WireError):
        return None
    layout.__dict__["digest"] = digest  # the digest of storage, also if a newer agent wrote it
    return KnownLayout(layout)


def _intervals(ticks: list[Tick]) -> dict[str, float]:
    """Return the usual time between two records of each host, in seconds."""
    by_host: dict[str, list[int]] = {}
    for tick in ticks:
        by_host.setdefault(tick.host, []).append(tick.corrected_ns)
    gaps = {host: np.diff(times) / 1e9 for host, times in by_host.items()}
    return usual_intervals(gaps, least=0.1)
