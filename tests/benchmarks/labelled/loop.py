"""A small real training: NumPy, a data loader, workers if wished, service calls, checkpoints; it reports its steps.

`python -m tests.benchmarks.labelled.loop PLAN` trains until it is stopped. Each line on stdin is a `Change`. Every
step is written to the plan's trace as (wall time of its end, seconds), whatever the agent makes of the reports.
"""

import contextlib
import http.client
import multiprocessing
import os
import queue
import struct
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

import flyball

if TYPE_CHECKING:
    from multiprocessing.queues import Queue as ProcessQueue

    import numpy as np

    from tests.benchmarks.labelled.sources import Batch

from tests.benchmarks.labelled.plan import Change, LoopPlan

TRACE = struct.Struct("<dd")
_FORK = multiprocessing.get_context("fork")


class Orders:
    """The settings that the experiment changes while the loop runs, shared with the workers."""

    def __init__(self, plan: LoopPlan) -> None:
        self.calls = plan.calls
        self.checkpoint_steps = plan.checkpoint_steps
        self.ended = threading.Event()
        self._cold = _FORK.Value("b", any(source.cold for source in plan.sources), lock=False)

    def is_cold(self) -> bool:
        """Return True if data sets are read past the page cache."""
        return bool(self._cold.value)

    def obey(self, change: Change) -> None:
        """Take a change."""
        if change.calls is not None:
            self.calls = change.calls
        if change.checkpoint_steps is not None:
            self.checkpoint_steps = change.checkpoint_steps
        if change.cold is not None:
            self._cold.value = change.cold
        if change.end:
            self.ended.set()

    def listen(self, lines: Iterable[bytes]) -> None:
        """Obey until there are no more lines."""
        for line in lines:
            self.obey(msgspec.json.decode(line, type=Change))
        self.ended.set()


class Model:
    """Two layers, gradients by hand."""

    def __init__(self, plan: LoopPlan) -> None:
        import numpy as np  # noqa: PLC0415  after the number of its threads is set

        rng = np.random.default_rng(plan.seed)
        self._first = rng.standard_normal((plan.features, plan.hidden), dtype=np.float32) * np.float32(0.03)
        self._second = rng.standard_normal((plan.hidden, 10), dtype=np.float32) * np.float32(0.03)
        self._target = rng.standard_normal((plan.batch, 10), dtype=np.float32)
        self.rate = np.float32(1e-3)

    def step(self, batch: "Batch", mark: Callable[[str], None]) -> float:
        """Forward, backward, update; the loss."""
        hidden = batch @ self._first
        hidden *= hidden > 0
        error = hidden @ self._second - self._target
        mark("forward")
        second = hidden.T @ error
        inner = (error @ self._second.T) * (hidden > 0)
        first = batch.T @ inner
        mark("backward")
        scale = self.rate / len(batch)
        self._first -= scale * first
        self._second -= scale * second
        mark("optimizer")
        return float((error * error).mean())


class Loader:
    """Gives batches: loaded here, or by processes or threads that run ahead."""

    def __init__(self, plan: LoopPlan, is_cold: Callable[[], bool]) -> None:
        import numpy as np  # noqa: PLC0415

        self._plan = plan
        self._is_cold = is_cold
        self._rng = np.random.default_rng(plan.seed)
        self._queue: ProcessQueue[Batch] | queue.Queue[Batch] | None = None
        if plan.loader_threads:
            self._queue = queue.Queue(plan.loader_threads * plan.prefetch)
            for number in range(plan.loader_threads):
                threading.Thread(target=self._work, args=(number,), daemon=True).start()
        elif plan.workers:
            self._queue = _FORK.Queue(plan.workers * plan.prefetch)
            for number in range(plan.workers):
                _FORK.Process(target=self._work, args=(number,), daemon=True).start()
        else:
            self._load = self._loading(self._rng)

    def batches(self, ended: threading.Event) -> Iterator["Batch"]:
        """Yield batches until the run is over."""
        while not ended.is_set():
            if self._queue is None:
                yield self._load()
                continue
            with contextlib.suppress(queue.Empty):
                yield self._queue.get(timeout=0.5)

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

    def __init__(self, host: str, port: int) -> None:
        self._connection = http.client.HTTPConnection(host, port, timeout=30)

    def call(self) -> None:
        """One request, answer included."""
        self._connection.request("GET", "/item")
        self._connection.getresponse().read()


@cache
def _weights(count: int) -> bytes:
    return os.urandom(count)


def write_checkpoint(folder: Path, count: int) -> None:
    """Write and force to the disk, as a trainer does that wants to find it again."""
    with (folder / "checkpoint.bin").open("wb") as file:
        file.write(_weights(count))
        file.flush()
        os.fsync(file.fileno())


def train(plan: LoopPlan, orders: Orders) -> None:
    """Train until it is stopped."""
    loader, model = Loader(plan, orders.is_cold), Model(plan)
    service = Service(plan.host, plan.service_port) if plan.service_port else None
    with flyball.run(plan.run) as run, Path(plan.trace).open("wb", buffering=0) as trace:
        started = time.perf_counter()
        for batch in run.data(loader.batches(orders.ended)):
            if service is not None:
                for _ in range(orders.calls):
                    with run.call("service"):
                        service.call()
            loss = model.step(batch, run.mark)
            step = run.last_step + 1
            if orders.checkpoint_steps and step % orders.checkpoint_steps == 0:
                with run.section("checkpoint"):
                    write_checkpoint(Path(plan.folder), plan.checkpoint_bytes)
            ended = time.perf_counter()
            trace.write(TRACE.pack(time.time(), ended - started))
            started = ended
            run.step(samples=plan.batch, loss=loss)


def prepare(plan: LoopPlan) -> None:
    """Set the environment of a training, as its user would before it starts."""
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = str(plan.threads)
    os.environ["FLYBALL_SOCKET"] = plan.socket if plan.reports != "none" else os.devnull


def obey_while(plan: LoopPlan, training: Callable[[LoopPlan, Orders], None]) -> None:
    """Train when the parent has sent a line, and obey its changes."""
    orders = Orders(plan)
    # unbuffered: a buffer's lock, held by a thread that waits, would stop the interpreter from ending
    with open(0, "rb", buffering=0, closefd=False) as lines:
        print("ready", flush=True)
        if not lines.readline():  # the parent may first move this process into a control group
            return
        threading.Thread(target=orders.listen, args=(lines,), daemon=True).start()
        training(plan, orders)


def main() -> None:
    """Train according to the plan."""
    plan = msgspec.json.decode(sys.argv[1], type=LoopPlan)
    prepare(plan)
    obey_while(plan, train)


if __name__ == "__main__":
    main()
