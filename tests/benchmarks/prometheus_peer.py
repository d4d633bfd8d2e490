"""Debian's Prometheus scraping as many series a host each second as our collector takes: CPU a host-second."""

import asyncio
import json
import random
import threading
import time
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.processes import Process, free_port, wait_for

SERIES = 171
_VARIANTS = 32
_CONFIGURATION = """
global: {{scrape_interval: 1s, scrape_timeout: 1s}}
scrape_configs:
- job_name: fleet
  file_sd_configs: [{{files: ['{targets}']}}]
"""


class Pages:
    """A web server whose every path is a host's page of metrics, with other values at each visit."""

    def __init__(self) -> None:
        dice = random.Random(1)
        self._pages = [_page(dice) for _ in range(_VARIANTS)]
        self.visits = 0
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="pages", daemon=True)
        self.port = free_port()

    def __enter__(self) -> Self:
        self._thread.start()
        serving = asyncio.start_server(self._serve, "127.0.0.1", self.port)
        asyncio.run_coroutine_threadsafe(serving, self._loop).result(10)
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _at: TracebackType | None
    ) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while await reader.readuntil(b"\r\n\r\n"):
                self.visits += 1
                writer.write(self._pages[self.visits % _VARIANTS])
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()


def _page(dice: random.Random) -> bytes:
    lines = [f'load_{n}{{gpu="GPU-{n % 8}"}} {dice.randrange(10**9)}' for n in range(SERIES)]
    body = ("\n".join(lines) + "\n").encode()
    head = f"HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


def cpu_per_host_second(directory: Path, hosts: int, seconds: float) -> float:
    """Seconds of CPU that Prometheus takes for one host's second."""
    targets, configuration = directory / "targets.json", directory / "prometheus.yml"
    with Pages() as pages:
        groups = [
            {"targets": [f"127.0.0.1:{pages.port}"], "labels": {"__metrics_path__": f"/{n}", "host": f"h{n}"}}
            for n in range(hosts)
        ]
        targets.write_text(json.dumps(groups))
        configuration.write_text(_CONFIGURATION.format(targets=targets))
        command = ["prometheus", f"--config.file={configuration}", f"--storage.tsdb.path={directory / 'tsdb'}"]
        with Process(
            [*command, f"--web.listen-address=127.0.0.1:{free_port()}"], directory / "prometheus.log"
        ) as process:
            process.start()
            wait_for("Prometheus scrapes", lambda: pages.visits > 2 * hosts, seconds=60)
            before, visits, started = process.cpu_seconds(), pages.visits, time.monotonic()
            time.sleep(seconds)
            scraped = pages.visits - visits
            if scraped < 0.9 * hosts * (time.monotonic() - started):
                raise RuntimeError(f"Prometheus made {scraped} scrapes of {hosts * seconds:.0f}: use fewer hosts")
            return (process.cpu_seconds() - before) / scraped
