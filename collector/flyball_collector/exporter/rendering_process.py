"""Renders pages in a worker process, because a large page would block the event loop."""

from flyball_collector.exporter.page_renderer import PageRequest, RenderedPage
from flyball_collector.exporter.request_encoding import RequestEncoder
from flyball_collector.worker_process import WorkerProcess

LIMIT_SECONDS = 60.0
"""The first page with 350,000 series takes some seconds on a busy machine. A process that takes longer is hung."""

_MODULE = "flyball_collector.exporter.worker"


class RenderingProcess:
    """Starts a process when it is first needed, and again after it was lost. Only one thread may use it at a time."""

    def __init__(self, vanish_after_seconds: float, limit_seconds: float = LIMIT_SECONDS) -> None:
        self.worker = WorkerProcess(_MODULE, str(vanish_after_seconds), limit_seconds=limit_seconds)
        self._encoder = RequestEncoder()

    def render(self, request: PageRequest) -> RenderedPage:
        """Render a page. Blocks. Raises `WorkerLostError`."""
        if self.worker.pid is None:
            self._encoder = RequestEncoder()  # a new process knows no static data yet
        page: RenderedPage = self.worker.ask(self._encoder.encode(request))
        return page
