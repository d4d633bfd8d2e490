"""Rendering in a process of its own: a large fleet's page would keep the event loop from the interpreter."""

from flyball_collector.exporter.pages import Page, PageOrder
from flyball_collector.exporter.parcel import Packer
from flyball_collector.worker_process import WorkerProcess

LIMIT_SECONDS = 60.0
"""A page of 350,000 series takes some seconds the first time, on a busy machine too; what takes longer hangs."""

_MODULE = "flyball_collector.exporter.worker"


class RenderingProcess:
    """Started when it is first needed, and again after it was lost. One thread at a time."""

    def __init__(self, vanish_after_seconds: float, limit_seconds: float = LIMIT_SECONDS) -> None:
        self.apart = WorkerProcess(_MODULE, str(vanish_after_seconds), limit_seconds=limit_seconds)
        self._packer = Packer()

    def render(self, order: PageOrder) -> Page:
        """A page; blocks until it is made. Raises `GoneError`."""
        if self.apart.pid is None:
            self._packer = Packer()  # the next process knows nothing yet
        page: Page = self.apart.ask(self._packer.pack(order))
        return page
