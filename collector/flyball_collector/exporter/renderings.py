"""Renderings of the fleet: made off the event loop, and shared by scrapes of the same second."""

import asyncio
import time
from collections.abc import Callable, Iterator
from typing import Protocol

import structlog
from prometheus_client import CollectorRegistry, Metric
from prometheus_client.exposition import generate_latest
from prometheus_client.openmetrics.exposition import generate_latest as generate_openmetrics

from flyball_collector.exporter.compression import gzip_at_once
from flyball_collector.exporter.diagnosis.snapshot import DiagnosisSnapshot
from flyball_collector.exporter.diagnosis.text import DiagnosisWriter
from flyball_collector.exporter.negotiation import Format
from flyball_collector.exporter.pages import Page, PageOrder, Pages, heard_of
from flyball_collector.exporter.process import RenderingProcess
from flyball_collector.exporter.text import ending, render_host
from flyball_collector.fleet.fleet import Fleet
from flyball_collector.own_metrics import OwnMetrics
from flyball_collector.worker_process import GoneError

_log = structlog.get_logger(__name__)

SHARED_NS = 10**9
"""How old a rendering may be when it is handed out: hosts say nothing new within a second."""

LARGE_FLEET = 256
"""Hosts from which on a process of its own renders: some 45,000 series, of which a thread takes 0.05 s."""


class Findings(Protocol):
    """What the diagnosis found, as it stands now. Asked on the event loop; another thread may keep the answer."""

    def of_fleet(self) -> DiagnosisSnapshot:
        """Of every host, and of runs."""

    def of_runs(self) -> DiagnosisSnapshot:
        """Of runs alone."""

    def of_host(self, name: str) -> DiagnosisSnapshot:
        """Of one host alone."""


class NothingFound:
    """Stands in where nobody diagnoses."""

    def of_fleet(self) -> DiagnosisSnapshot:
        """Nothing."""
        return DiagnosisSnapshot()

    def of_runs(self) -> DiagnosisSnapshot:
        """Nothing."""
        return DiagnosisSnapshot()

    def of_host(self, name: str) -> DiagnosisSnapshot:  # noqa: ARG002
        """Nothing."""
        return DiagnosisSnapshot()


class Renderings:
    """What `/metrics` answers: the collector's own metrics, then the fleet."""

    def __init__(
        self,
        fleet: Fleet,
        own: OwnMetrics,
        *,
        findings: Findings | None = None,
        vanish_after_seconds: float = 15.0,
        clock: Callable[[], int] = time.time_ns,
        large_fleet: int = LARGE_FLEET,
    ) -> None:
        self._fleet = fleet
        self._findings: Findings = findings or NothingFound()
        self._own = own
        self._clock = clock
        self._vanish_after_seconds = vanish_after_seconds
        self._large_fleet = large_fleet
        self._pages = Pages(vanish_after_seconds)
        self._process = RenderingProcess(vanish_after_seconds)
        self._turn = asyncio.Lock()  # both serve one thread at a time
        self._makings: set[asyncio.Task[bytes]] = set()
        self._newest: dict[tuple[Format, bool], tuple[int, bytes]] = {}

    @property
    def renderer_pid(self) -> int | None:
        """Of the process that renders, while there is one."""
        return self._process.apart.pid

    def close(self) -> None:
        """End the process, if there is one."""
        self._process.apart.close()

    async def of_fleet(self, format_: Format, *, gzip: bool) -> bytes:
        """The page of all hosts, each line labelled with its `instance`."""
        self._own.scrapes.labels("fleet").inc()
        making = asyncio.create_task(self._current(format_, gzip), name="rendering")
        self._makings.add(making)
        making.add_done_callback(self._makings.discard)
        return await asyncio.shield(making)  # a scraper that goes away leaves the work to the next one

    def of_host(self, name: str, format_: Format, *, gzip: bool) -> bytes | None:
        """The page of one host alone, without `instance`; `None` when it is unknown."""
        self._own.scrapes.labels("host").inc()
        now_ns = self._clock()
        snapshot = self._fleet.snapshot(now_ns, [name])
        heard = heard_of(snapshot, now_ns, self._vanish_after_seconds)
        found = DiagnosisWriter(instance=False).render(
            self._findings.of_host(name), format_, known=(name,), heard=heard, runs=False
        )
        body = render_host(snapshot, name, format_, now_ns, self._vanish_after_seconds, more=found)
        return gzip_at_once(body) if gzip and body is not None else body

    def of_collector(self, format_: Format, *, gzip: bool) -> bytes:
        """The collector's own metrics and those of runs, which are no host's: small, whatever the size of the fleet."""
        self._own.scrapes.labels("collector").inc()
        runs = DiagnosisWriter().render(self._findings.of_runs(), format_, known=(), heard=())
        body = b"".join([own_text(self._own.registry, format_), *runs, ending(format_)])
        return gzip_at_once(body) if gzip else body

    async def _current(self, format_: Format, gzip: bool) -> bytes:
        async with self._turn:
            now_ns = self._clock()
            made_ns, body = self._newest.get((format_, gzip), (0, b""))
            if not 0 <= now_ns - made_ns < SHARED_NS:
                self._let_go_of_old(now_ns)
                body = await self._make(format_, gzip, now_ns)
                self._newest[format_, gzip] = (now_ns, body)
            return body

    async def _make(self, format_: Format, gzip: bool, now_ns: int) -> bytes:
        started = time.monotonic()
        snapshot = self._fleet.snapshot(now_ns)
        await asyncio.sleep(0)  # each of both takes some milliseconds of a large fleet
        order = PageOrder(b"", snapshot, self._findings.of_fleet(), format_, gzip, now_ns)
        page = await asyncio.to_thread(self._render, order)
        self._own.scrape_seconds.observe(time.monotonic() - started)
        self._own.scrape_series.set(page.series)
        self._own.scrape_bytes.set(len(page.body))
        self._own.conflicting_series.set(page.conflicting)
        return page.body

    def _render(self, order: PageOrder) -> Page:
        """In another thread. Where the process fails, this one makes the page: slower for all, but whole."""
        order = order._replace(own=own_text(self._own.registry, order.format_))
        if len(order.snapshot.hosts) >= self._large_fleet:
            try:
                return self._process.render(order)
            except GoneError as error:
                self._own.renderer_failures.inc()
                _log.warning("renderer_lost", error=str(error), remedy="the next page starts it again")
        return self._pages.render(order)

    def _let_go_of_old(self, now_ns: int) -> None:
        self._newest = {
            key: (made_ns, body) for key, (made_ns, body) in self._newest.items() if 0 <= now_ns - made_ns < SHARED_NS
        }


def own_text(registry: CollectorRegistry, format_: Format) -> bytes:
    """A registry's lines, with no line feed after the last."""
    source = _WithoutCreated(registry)
    if format_ is Format.OPENMETRICS:
        return bytes(generate_openmetrics(source)).removesuffix(b"# EOF\n").rstrip(b"\n")  # type: ignore[no-untyped-call]
    return generate_latest(source).rstrip(b"\n")


class _WithoutCreated:
    """`_created` doubles the series of counters and tells what `start_time_seconds` says once."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._registry = registry

    def collect(self) -> Iterator[Metric]:
        for family in self._registry.collect():
            family.samples = [sample for sample in family.samples if not sample.name.endswith("_created")]
            yield family
