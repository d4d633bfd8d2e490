"""Renders pages of the fleet from requests, which contain all data."""

import time
from collections.abc import Iterator
from typing import NamedTuple

from flyball_collector.exporter.compression import gzip_stream
from flyball_collector.exporter.diagnosis.diagnosis_writer import DiagnosisWriter
from flyball_collector.exporter.diagnosis.snapshot import DiagnosisSnapshot
from flyball_collector.exporter.fleet_writer import FleetWriter, ending
from flyball_collector.exporter.negotiation import ExpositionFormat
from flyball_collector.fleet.snapshot import Snapshot


class PageRequest(NamedTuple):
    """The data of a page."""

    own: bytes  # the collector's own metrics
    snapshot: Snapshot
    diagnosis: DiagnosisSnapshot
    format_: ExpositionFormat
    gzip: bool
    now_ns: int


class RenderedPage(NamedTuple):
    """A rendered page with its statistics."""

    body: bytes
    series: int
    conflicting: int


class PageRenderer:
    """Renders pages one after another, and keeps unchanged parts. Only one thread may use it at a time."""

    def __init__(self, vanish_after_seconds: float) -> None:
        self._vanish_after_seconds = vanish_after_seconds
        self._fleet = FleetWriter(vanish_after_seconds)
        self._diagnosis = DiagnosisWriter()

    def render(self, request: PageRequest) -> RenderedPage:
        """Render all hosts. Each line is labelled with its `instance`."""
        pieces = _yielding(self._pieces(request))
        body = gzip_stream(pieces) if request.gzip else b"".join(pieces)
        return RenderedPage(body, self._fleet.series + self._diagnosis.series, self._fleet.conflicting)

    def _pieces(self, request: PageRequest) -> Iterator[bytes]:
        yield request.own
        yield from self._fleet.render(request.snapshot, request.format_, request.now_ns)
        known = dict.fromkeys(host.name for host in request.snapshot.hosts)
        reporting = reporting_hosts(request.snapshot, request.now_ns, self._vanish_after_seconds)
        yield from self._diagnosis.render(request.diagnosis, request.format_, known=known, reporting=reporting)
        yield ending(request.format_)


def reporting_hosts(snapshot: Snapshot, now_ns: int, vanish_after_seconds: float) -> frozenset[str]:
    """Return the hosts that report, whose readings are shown."""
    oldest_ns = now_ns - int(vanish_after_seconds * 1e9)
    return frozenset(host.name for host in snapshot.hosts if host.received_ns >= oldest_ns)


def _yielding(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Yield pieces, and let a waiting event loop have the interpreter after each, not a switch interval later."""
    for piece in pieces:
        yield piece
        time.sleep(0)
