"""A small real training: NumPy, a data loader, workers if wished, service calls, checkpoints; it reports its steps.

`python -m tests.benchmarks.labelled.loop PLAN` trains until it is stopped. Each line on stdin is a `Change`. Every
step is written to the plan's trace as (wall time of its end, seconds), whatever the agent makes of the reports.
"""

import contextlib
import http.client
import json
import multiprocessing
import os
import queue
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from multiprocessing.queues import Queue

    import numpy as np

    from tests.benchmarks.labelled.sources import Batch

from tests.benchmarks.labelled.plan import Change, LoopPlan

REPORT_SECONDS = 1.0
TRACE = struct.Struct("<dd")
_FORK = multiprocessing.get_context("fork")


class Orders:
    """The settings that the experiment changes while the loop runs, shared with the workers."""

    def __init__(self, plan: LoopPlan) -> None:
        self.calls = plan.calls
        self.ended = threading.Event()
        self._cold = _FORK.Value("b", any(source.cold for source in plan.sources), lock=False)

    def is_cold(self) -> bool:
        """Return True if data sets are read past the page cache."""
        return bool(self._cold.value)

    def obey(self, change: Change) -> None:
        """Take a change."""
        if change.calls is not None:
            self.calls = change.calls
        if change.cold is not None:
            self._cold.value = change.cold
        if change.end:
            self.ended.set()

    def listen(self, lines: Iterable[bytes]) -> None:
        """Obey until there are no more lines."""
        for line in lines:
            self.obey(msgspec.json.decode(line, type=Change))
        self.ended.set()


class Sections:
    """Seconds by section since the last report."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextlib.contextmanager
    def __call__(self, name: str) -> Iterator[None]:
        """Time a section."""
        started = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - started


class Reporter:
    """Report the steps to the agent's Unix socket about once a second."""

    def __init__(self, plan: LoopPlan, now: Callable[[], float] = time.monotonic) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.connect(plan.socket)
        self._socket.setblocking(False)
        self._now = now
        self._reported = now()
        self._steps = 0
        self._seconds = 0.0
        self._batch = plan.batch
        self._send({"kind": "hello", "run": plan.run, "rank": 0, "world_size": 1})

    def step(self, number: int, seconds: float, loss: float, sections: Sections) -> None:
        """One step is done."""
        self._steps += 1
        self._seconds += seconds
        if self._now() - self._reported < REPORT_SECONDS:
            return
        self._send({
            "kind": "steps",
            "step": number,
            "steps": self._steps,
            "step_seconds": self._seconds,
            "data_wait_seconds": sections.seconds.get("data", 0.0),
            "samples": self._steps * self._batch,
            "loss": loss,
            "section_seconds": sections.seconds,
        })  # fmt: skip
        self._reported, self._steps, self._seconds = self._now(), 0, 0.0
        sections.seconds = {}

    def close(self) -> None:
        """Send a goodbye and close the socket."""
        self._send({"kind": "goodbye"})
        self._socket.close()

    def _send(self, message: dict[str, object]) -> None:
        self._socket.send(json.dumps(message).encode() + b"\n")
        with contextlib.suppress(BlockingIOError):
            self._socket.recv(65536)


class Model:
    """Two layers, gradients by hand."""

    def __init__(self, plan: LoopPlan) -> None:
        import numpy as np  # noqa: PLC0415  after the number of its threads is set

        rng = np.random.default_rng(plan.seed)
        self._first = rng.standard_normal((plan.features, plan.hidden), dtype=np.float32) * np.float32(0.03)
        self._second = rng.standard_normal((plan.hidden, 10), dtype=np.float32) * np.float32(0.03)
        self._target = rng.standard_normal((plan.batch, 10), dtype=np.float32)
        self.rate = np.float32(1e-3)

    def step(self, batch: "Batch", section: Sections) -> float:
        """Forward, backward, update; the loss."""
        with section("forward"):
            hidden = batch @ self._first
            hidden *= hidden > 0
            error = hidden @ self._second - self._target
        with section("backward"):
            second = hidden.T @ error
            inner = (error @ self._second.T) * (hidden > 0)
            first = batch.T @ inner
        with section("optimizer"):
            scale = self.rate / len(batch)
            self._first -= scale * first
            self._second -= scale * second
        return float((error * error).mean())


class Loader:
    """Gives batches: loaded here, or by processes that run ahead."""

    def __init__(self, plan: LoopPlan, is_cold: Callable[[], bool]) -> None:
        import numpy as np  # noqa: PLC0415

        self._plan = plan
        self._is_cold = is_cold
        self._rng = np.random.default_rng(plan.seed)
        self._queue: Queue[Batch] | None = None
        if plan.workers:
            self._queue = _FORK.Queue(plan.workers * plan.prefetch)
            for number in range(plan.workers):
                _FORK.Process(target=self._work, args=(number,), daemon=True).start()
        else:
            self._load = self._loading(self._rng)

    def next(self, ended: threading.Event) -> "Batch | None":
        """The next batch; nothing when the run is over."""
        if self._queue is None:
            return self._load()
        while not ended.is_set():
            with contextlib.suppress(queue.Empty):
                return self._queue.get(timeout=0.5)
        return None

    def _work(self, number: int) -> None:
        import numpy as np  # noqa: PLC0415

        load = self._loading(np.random.default_rng((self._plan.seed, number)))
        assert self._queue is not None
        while True:
            self._queue.put(load())

    def _loading(self, rng: "np.random.Generator") -> "Callable[[], Batch]":
        from tests.benchmarks.labelled.sources import build_source  # noqa: PLC0415

        sources = [build_source(source, self._plan, self._is_cold) for source in self._plan.sources]

        def load() -> "Batch":
            batch = sources[0].load(rng)
            for source in sources[1:]:
                source.load(rng)
            return batch

        return load


class Service:
    """The service that the training calls: one request after the other over one connection."""

    def __init__(self, port: int) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)

    def call(self) -> None:
        """One request, answer included."""
        self._connection.request("GET", "/item")
        self._connection.getresponse().read()


def write_checkpoint(folder: Path, count: int) -> None:
    """Write and force to the disk, as a trainer does that wants to find it again."""
    with (folder / "checkpoint.bin").open("wb") as file:
        file.write(os.urandom(count))
        file.flush()
        os.fsync(file.fileno())


def train(plan: LoopPlan, orders: Orders) -> None:
    """Train until it is stopped."""
    loader = Loader(plan, orders.is_cold)
    model, section, reporter = Model(plan), Sections(), Reporter(plan)
    service = Service(plan.service_port) if plan.service_port else None
    step = 0
    with Path(plan.trace).open("wb", buffering=0) as trace:
        while not orders.ended.is_set():
            started = time.perf_counter()
            with section("data"):
                batch = loader.next(orders.ended)
            if batch is None:
                break
            if orders.calls and service is not None:
                with section("service"):
                    for _ in range(orders.calls):
                        service.call()
            loss = model.step(batch, section)
            step += 1
            if plan.checkpoint_steps and step % plan.checkpoint_steps == 0:
                with section("checkpoint"):
                    write_checkpoint(Path(plan.folder), plan.checkpoint_bytes)
            seconds = time.perf_counter() - started
            trace.write(TRACE.pack(time.time(), seconds))
            reporter.step(step, seconds, loss, section)
    reporter.close()


def main() -> None:
    """Train according to the plan."""
    plan = msgspec.json.decode(sys.argv[1], type=LoopPlan)
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = str(plan.threads)
    orders = Orders(plan)
    # unbuffered: a buffer's lock, held by a thread that waits, would stop the interpreter from ending
    with open(0, "rb", buffering=0, closefd=False) as lines:
        print("ready", flush=True)
        if not lines.readline():  # the parent may first move this process into a control group
            return
        threading.Thread(target=orders.listen, args=(lines,), daemon=True).start()
        train(plan, orders)


if __name__ == "__main__":
    main()
