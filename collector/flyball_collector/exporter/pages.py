"""Pages of the fleet: what is asked for in one object, and what is made of it in another."""

import time
from collections.abc import Iterator
from typing import NamedTuple

from flyball_collector.exporter.compression import gzip_stream
from flyball_collector.exporter.diagnosis.snapshot import DiagnosisSnapshot
from flyball_collector.exporter.diagnosis.text import DiagnosisWriter
from flyball_collector.exporter.negotiation import Format
from flyball_collector.exporter.text import FleetWriter, ending
from flyball_collector.fleet.snapshot import Snapshot


class PageOrder(NamedTuple):
    """What a page is to say."""

    own: bytes  # the collector's own metrics
    snapshot: Snapshot
    diagnosis: DiagnosisSnapshot
    format_: Format
    gzip: bool
    now_ns: int


class Page(NamedTuple):
    """A page, and what there is to know of it."""

    body: bytes
    series: int
    conflicting: int


class Pages:
    """Renders page after page, and keeps what does not change. One thread at a time."""

    def __init__(self, vanish_after_seconds: float) -> None:
        self._vanish_after_seconds = vanish_after_seconds
        self._fleet = FleetWriter(vanish_after_seconds)
        self._found = DiagnosisWriter()

    def render(self, order: PageOrder) -> Page:
        """All hosts, each line labelled with its `instance`."""
        pieces = _giving_way(self._pieces(order))
        body = gzip_stream(pieces) if order.gzip else b"".join(pieces)
        return Page(body, self._fleet.series + self._found.series, self._fleet.conflicting)

    def _pieces(self, order: PageOrder) -> Iterator[bytes]:
        yield order.own
        yield from self._fleet.render(order.snapshot, order.format_, order.now_ns)
        known = dict.fromkeys(host.name for host in order.snapshot.hosts)
        heard = heard_of(order.snapshot, order.now_ns, self._vanish_after_seconds)
        yield from self._found.render(order.diagnosis, order.format_, known=known, heard=heard)
        yield ending(order.format_)


def heard_of(snapshot: Snapshot, now_ns: int, vanish_after_seconds: float) -> frozenset[str]:
    """Hosts whose readings are shown."""
    oldest_ns = now_ns - int(vanish_after_seconds * 1e9)
    return frozenset(host.name for host in snapshot.hosts if host.received_ns >= oldest_ns)


def _giving_way(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Lets an event loop that waits for the interpreter have it now, not a switch interval later."""
    for piece in pieces:
        yield piece
        time.sleep(0)
