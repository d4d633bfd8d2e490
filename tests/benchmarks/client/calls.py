"""Measures what each call of the client costs in the thread of the training, in a process of its own."""

import gc
import json
import sys
import time
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from pathlib import Path
from statistics import median

from flyball.training.run import Run
from tests.client.training.listening_socket import ListeningSocket, open_run

REPEATS = 7
CALLS = 100_000
REPORTS = 3_000
NEVER_NS = 10**18


def main() -> None:
    """Print the seconds of each call as JSON: of a run that never reports, then of reports themselves."""
    path = Path(sys.argv[1])
    run = open_run(Path("/dev/null"), name="calls", report_ns=NEVER_NS)
    run.step()
    costs = {name: _of(loop) for name, loop in _loops(run).items()}
    costs["report"] = _report_seconds(path)
    costs["memory_bytes"] = _memory_bytes()
    print(json.dumps(costs))


def _loops(run: Run) -> dict[str, Callable[[int], None]]:
    """Return loops around each call, and one around nothing."""
    return {
        "nothing": _times(lambda: None),
        "step": _times(lambda: run.step(tokens=4096, loss=2.5)),
        "mark": _times(lambda: run.mark("forward")),
        "section": lambda count: _blocks(run.section, count),
        "call": lambda count: _blocks(run.call, count),
        "item": lambda count: _items(run.data(range(count))),
    }


def _times(function: Callable[[], None]) -> Callable[[int], None]:
    def loop(count: int) -> None:
        for _ in range(count):
            function()

    return loop


def _blocks(block: Callable[[str], AbstractContextManager[None]], count: int) -> None:
    for _ in range(count):
        with block("checkpoint"):
            pass


def _items(data: Iterable[int]) -> None:
    for _ in data:
        pass


def _of(loop: Callable[[int], None]) -> float:
    """Return the shortest CPU time of one call: what is longer was interrupted, or on a slower core."""
    loop(CALLS // 10)
    times = []
    for _ in range(REPEATS):
        began = time.thread_time_ns()
        loop(CALLS)
        times.append(time.thread_time_ns() - began)
    return min(times) / CALLS * 1e-9


def _report_seconds(path: Path) -> float:
    """Return the time of a report of a usual training, over that of a step without one, with an agent that answers."""
    with ListeningSocket(path) as agent:
        run = open_run(path, report_ns=0)
        connection = agent.accept()
        connection.setblocking(False)
        times, without = [], []
        quiet = open_run(Path("/dev/null"), name="quiet", report_ns=NEVER_NS)
        quiet.step()
        for _ in range(REPORTS):
            for _ in run.data((1,)):
                pass
            for name in ("forward", "backward", "optimizer"):
                run.mark(name)
            times.append(_step_ns(run))
            without.append(_step_ns(quiet))
            connection.recv(1 << 20)
            connection.send(b'{"kind":"ok"}\n')
        return max(0, median(times) - median(without)) * 1e-9


def _step_ns(run: Run) -> int:
    began = time.perf_counter_ns()
    run.step(tokens=4096, samples=32, loss=2.5)
    return time.perf_counter_ns() - began


def _memory_bytes() -> int:
    """Return the growth of this process over a training of many steps and reports, after the first of them."""
    run = open_run(Path("/dev/null"), name="memory", report_ns=1_000_000)
    grown = []
    for _ in range(2):
        gc.collect()
        before = _resident_bytes()
        for number in range(200_000):
            run.mark("forward")
            run.step(tokens=number, loss=float(number))
        grown.append(_resident_bytes() - before)
    return max(grown)


def _resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


if __name__ == "__main__":
    main()
