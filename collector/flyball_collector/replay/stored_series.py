"""Stored rows of hosts as a recording: every reading, step, event and definition, as it was taken."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np
from google.protobuf.message import DecodeError

from flyball_collector.blocks.block import RowGroup
from flyball_collector.engine.player import About, Recording, usual_intervals
from flyball_collector.tick import KnownLayout, Tick
from flyball_proto.errors import WireError
from flyball_proto.layout import Layout
from flyball_proto.unavailable_reading import parse_unavailable
from flyball_proto.v1 import telemetry_pb2 as pb

HOLD_SECONDS = 2.5
"""As long as a live reading stands."""

Find = Callable[[str, int], bytes | None]
"""The body of a definition by kind (layout, unavailable readings, tenancy) and digest."""


@dataclass(frozen=True, slots=True)
class HostRows:
    """What is recorded of one host."""

    host: str
    groups: tuple[RowGroup, ...]
    inventory: pb.Inventory | None = None


@dataclass(slots=True)
class _Reader:
    """Parses each definition once; what is missing or damaged is left out."""

    find: Find
    layouts: dict[int, KnownLayout | None] = field(default_factory=dict)
    about: About = field(default_factory=About)

    def layout(self, digest: int) -> KnownLayout | None:
        if digest not in self.layouts:
            body = self.find("layout", digest)
            self.layouts[digest] = _known(body, digest) if body is not None else None
        return self.layouts[digest]

    def meet(self, unavailable: int, tenancy: int) -> None:
        """Look these definitions up, if they are new."""
        if (
            unavailable
            and unavailable not in self.about.unavailable
            and (body := self.find("unavailable", unavailable))
        ):
            try:
                self.about.unavailable[unavailable] = parse_unavailable(body)
            except WireError:
                self.about.unavailable[unavailable] = ()
        if tenancy and tenancy not in self.about.tenancies and (body := self.find("tenancy", tenancy)):
            try:
                self.about.tenancies[tenancy] = pb.Tenancy.FromString(body)
            except DecodeError:
                self.about.tenancies[tenancy] = pb.Tenancy()


def recording_of(hosts: Iterable[HostRows], find: Find) -> Recording:
    """Rows of hosts in rising time; those whose layout is not known are left out."""
    reader = _Reader(find)
    ticks: list[Tick] = []
    for each in hosts:
        if each.inventory is not None:
            reader.about.inventories[each.host] = each.inventory
        ticks += _ticks(each, reader)
    ticks.sort(key=lambda tick: (tick.corrected_ns, tick.host))
    return Recording(ticks, _intervals(ticks), HOLD_SECONDS, reader.about)


def _ticks(rows: HostRows, reader: _Reader) -> Iterator[Tick]:
    """One tick a row; a row that came twice, from two pieces of one block, is one."""
    seen: set[tuple[int, int]] = set()
    order = 0
    for group in sorted(rows.groups, key=lambda group: int(group.corrected_ns[0]) if len(group.corrected_ns) else 0):
        layout = reader.layout(group.layout)
        for row in range(len(group.sequences) if layout is not None else 0):
            key = (int(group.agent_ns[row]), int(group.sequences[row]))
            if layout is None or key in seen:
                continue
            seen.add(key)
            reader.meet(int(group.unavailable[row]), int(group.tenancy[row]))
            yield _tick(rows.host, group, row, layout, order)
            order += 1


def _tick(host: str, group: RowGroup, row: int, layout: KnownLayout, order: int) -> Tick:
    sequence = int(group.sequences[row])
    extras = group.extras.get(sequence, b"")
    return Tick(
        host=host,
        epoch=b"recorded" * 2,
        sequence=order,  # epochs may change in between: what counts is the order
        layout=layout,
        values=group.values[row],
        valid=group.valid[row],
        agent_ns=int(group.agent_ns[row]),
        boot_ns=int(group.boot_ns[row]),
        corrected_ns=int(group.corrected_ns[row]),
        received_ns=int(group.corrected_ns[row]),  # what came late, out of a spool, is played when it was measured
        unavailable=int(group.unavailable[row]),
        tenancy=int(group.tenancy[row]),
        extras=extras,
        live=True,
        told=_told(extras),
    )


def _told(extras: bytes) -> pb.Record | None:
    try:
        return pb.Record.FromString(extras) if extras else None
    except DecodeError:
        return None


def _known(body: bytes, digest: int) -> KnownLayout | None:
    try:
        layout = Layout.parse(body)
    except WireError:
        return None
    layout.__dict__["digest"] = digest  # the name it was stored under, also where a newer agent wrote it
    return KnownLayout(layout)


def _intervals(ticks: list[Tick]) -> dict[str, float]:
    """The usual time from one record of each host to its next, in seconds."""
    by_host: dict[str, list[int]] = {}
    for tick in ticks:
        by_host.setdefault(tick.host, []).append(tick.corrected_ns)
    gaps = {host: np.diff(times) / 1e9 for host, times in by_host.items()}
    return usual_intervals(gaps, least=0.1)
