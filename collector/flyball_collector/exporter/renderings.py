"""Renders the answers to `/metrics`, off the event loop, and shares them between scrapes of the same second."""

import asyncio
import time
from collections.abc import Callable, Iterator
from typing import Protocol

import structlog
from prometheus_client import CollectorRegistry, Metric
from prometheus_client.exposition import generate_latest
from prometheus_client.openmetrics.exposition import generate_latest as generate_openmetrics

from flyball_collector.exporter.compression import gzip_at_once
from flyball_collector.exporter.diagnosis.diagnosis_writer import DiagnosisWriter
from flyball_collector.exporter.diagnosis.snapshot import DiagnosisSnapshot
from flyball_collector.exporter.fleet_writer import ending, render_host
from flyball_collector.exporter.negotiation import ExpositionFormat
from flyball_collector.exporter.page_renderer import PageRenderer, PageRequest, RenderedPage, reporting_hosts
from flyball_collector.exporter.rendering_process import RenderingProcess
from flyball_collector.fleet.fleet import Fleet
from flyball_collector.own_metrics import OwnMetrics
from flyball_collector.worker_process import WorkerLostError

_log = structlog.get_logger(__name__)

SHARED_NS = 10**9
"""Maximum age of a shared rendering: hosts report once a second."""

LARGE_FLEET = 256
"""Number of hosts from which a worker process renders: about 45,000 series, for which a thread takes 0.05 s."""


class FindingSource(Protocol):
    """The current results of the diagnosis. Called on the event loop; another thread may keep the result."""

    def of_fleet(self) -> DiagnosisSnapshot:
        """Return the results of all hosts and runs."""

    def of_runs(self) -> DiagnosisSnapshot:
        """Return the results of all runs."""

    def of_host(self, name: str) -> DiagnosisSnapshot:
        """Return the results of one host."""


class NoFindings:
    """A source without results, for use without a diagnosis."""

    def of_fleet(self) -> DiagnosisSnapshot:
        """Return no results."""
        return DiagnosisSnapshot()

    def of_runs(self) -> DiagnosisSnapshot:
        """Return no results."""
        return DiagnosisSnapshot()

    def of_host(self, name: str) -> DiagnosisSnapshot:  # noqa: ARG002
        """Return no results."""
        return DiagnosisSnapshot()


class Renderings:
    """Renders `/metrics`: the collector's own metrics, then the fleet."""

    def __init__(
        self,
        fleet: Fleet,
        own: OwnMetrics,
        *,
        findings: FindingSource | None = None,
        vanish_after_seconds: float = 15.0,
        clock: Callable[[], int] = time.time_ns,
        large_fleet: int = LARGE_FLEET,
    ) -> None:
        self._fleet = fleet
        self._findings: FindingSource = findings or NoFindings()
        self._own = own
        self._clock = clock
        self._vanish_after_seconds = vanish_after_seconds
        self._large_fleet = large_fleet
        self._pages = PageRenderer(vanish_after_seconds)
        self._process = RenderingProcess(vanish_after_seconds)
        self._rendering = asyncio.Lock()  # both renderers serve one thread at a time
        self._tasks: set[asyncio.Task[bytes]] = set()
        self._newest: dict[tuple[ExpositionFormat, bool], tuple[int, bytes]] = {}

    @property
    def renderer_pid(self) -> int | None:
        """Return the id of the rendering process, or `None`."""
        return self._process.worker.pid

    def close(self) -> None:
        """End the process, if there is one."""
        self._process.worker.close()

    async def of_fleet(self, format_: ExpositionFormat, *, gzip: bool) -> bytes:
        """Return the page of all hosts. Each line is labelled with its `instance`."""
        self._own.scrapes.labels("fleet").inc()
        task = asyncio.create_task(self._current(format_, gzip), name="rendering")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return await asyncio.shield(task)  # if the scraper disconnects, the next one gets the page

    def of_host(self, name: str, format_: ExpositionFormat, *, gzip: bool) -> bytes | None:
        """Return the page of one host, without `instance`, or `None` if it is unknown."""
        self._own.scrapes.labels("host").inc()
        now_ns = self._clock()
        snapshot = self._fleet.snapshot(now_ns, [name])
        reporting = reporting_hosts(snapshot, now_ns, self._vanish_after_seconds)
        found = DiagnosisWriter(instance=False).render(
            self._findings.of_host(name), format_, known=(name,), reporting=reporting, runs=False
        )
        body = render_host(snapshot, name, format_, now_ns, self._vanish_after_seconds, more=found)
        return gzip_at_once(body) if gzip and body is not None else body

    def of_collector(self, format_: ExpositionFormat, *, gzip: bool) -> bytes:
        """Return the collector's own metrics and those of runs, which belong to no host. The page is always small."""
        self._own.scrapes.labels("collector").inc()
        runs = DiagnosisWriter().render(self._findings.of_runs(), format_, known=(), reporting=())
        body = b"".join([own_text(self._own.registry, format_), *runs, ending(format_)])
        return gzip_at_once(body) if gzip else body

    async def _current(self, format_: ExpositionFormat, gzip: bool) -> bytes:
        async with self._rendering:
            now_ns = self._clock()
            rendered_ns, body = self._newest.get((format_, gzip), (0, b""))
            if not 0 <= now_ns - rendered_ns < SHARED_NS:
                self._drop_old(now_ns)
                body = await self._make(format_, gzip, now_ns)
                self._newest[format_, gzip] = (now_ns, body)
            return body

    async def _make(self, format_: ExpositionFormat, gzip: bool, now_ns: int) -> bytes:
        started = time.monotonic()
        snapshot = self._fleet.snapshot(now_ns)
        await asyncio.sleep(0)  # each of the two takes some milliseconds for a large fleet
        request = PageRequest(b"", snapshot, self._findings.of_fleet(), format_, gzip, now_ns)
        page = await asyncio.to_thread(self._render, request)
        self._own.scrape_seconds.observe(time.monotonic() - started)
        self._own.scrape_series.set(page.series)
        self._own.scrape_bytes.set(len(page.body))
        self._own.conflicting_series.set(page.conflicting)
        return page.body

    def _render(self, request: PageRequest) -> RenderedPage:
        """Render in another thread. If the process fails, this thread renders the page, which is slower."""
        request = request._replace(own=own_text(self._own.registry, request.format_))
        if len(request.snapshot.hosts) >= self._large_fleet:
            try:
                return self._process.render(request)
            except WorkerLostError as error:
                self._own.renderer_failures.inc()
                _log.warning("renderer_process_lost", error=str(error), remedy="it restarts with the next page")
        return self._pages.render(request)

    def _drop_old(self, now_ns: int) -> None:
        self._newest = {
            key: (rendered_ns, body)
            for key, (rendered_ns, body) in self._newest.items()
            if 0 <= now_ns - rendered_ns < SHARED_NS
        }


def own_text(registry: CollectorRegistry, format_: ExpositionFormat) -> bytes:
    """Return a registry's lines without the last line feed."""
    source = _WithoutCreated(registry)
    if format_ is ExpositionFormat.OPENMETRICS:
        return bytes(generate_openmetrics(source)).removesuffix(b"# EOF\n").rstrip(b"\n")  # type: ignore[no-untyped-call]
    return generate_latest(source).rstrip(b"\n")


class _WithoutCreated:
    """A registry without `_created`, which would double the counters' series and only repeats `start_time_seconds`."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._registry = registry

    def collect(self) -> Iterator[Metric]:
        for family in self._registry.collect():
            family.samples = [sample for sample in family.samples if not sample.name.endswith("_created")]
            yield family
