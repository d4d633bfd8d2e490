"""Measures what adjustments cost at a boundary: with nothing pending, with an offer, and where a change is made."""

import json
import multiprocessing
import sys
import time
from importlib.util import find_spec
from multiprocessing.connection import Connection
from pathlib import Path
from statistics import median

from flyball.adjustments.register import StoreRegister
from flyball.adjustments.run_adjustments import RunAdjustments
from flyball.training.run import Run
from tests.client.adjustments.adjusting_agent import AdjustingAgent, open_rank

CHANGES = 300
STEPS = 100_000
REPEATS = 5
NEVER_NS = 10**18
FAR = 2**50


def main() -> None:
    """Print the seconds of each kind of boundary as JSON."""
    agent = AdjustingAgent(Path(sys.argv[1]))
    bare = _step_seconds(open_rank(Path("/dev/null"), report_ns=NEVER_NS))
    run = open_rank(agent.socket.path, report_ns=NEVER_NS)
    agent.socket.accept()
    run.value("calls", 1, choices=(1, 10))
    declared = _step_seconds(run) - bare
    agent.offer("calls", 1, 10, at=FAR, expires_seconds=3600)
    run.exchange()
    pending = _step_seconds(run) - bare
    run.finish()
    agent.close()
    commit = _commit_seconds(Path(f"{sys.argv[1]}.2")) if find_spec("torch") is not None else None
    print(json.dumps({"declared": declared, "pending": pending, "commit": commit}))


def _step_seconds(run: Run) -> float:
    """Return the shortest CPU time of a step."""
    times = []
    for _ in range(REPEATS):
        began = time.thread_time_ns()
        for _ in range(STEPS):
            run.step(tokens=4096, loss=2.5)
        times.append(time.thread_time_ns() - began)
    return min(times) / STEPS * 1e-9


def _commit_seconds(path: Path) -> float:
    """Return the median duration of a step at which a change is made, over that of one without."""
    from torch.distributed import TCPStore  # noqa: PLC0415  it may be missing

    ours, theirs = multiprocessing.get_context("spawn").Pipe()
    server = multiprocessing.get_context("spawn").Process(target=_serve, args=(theirs,))
    server.start()
    store = TCPStore("127.0.0.1", ours.recv(), None, False)
    agent = AdjustingAgent(path)
    run = open_rank(path, report_ns=NEVER_NS)
    agent.socket.accept()
    run._adjustments = RunAdjustments(run, lambda _: StoreRegister(store))
    value = run.value("size", 1, choices=(1, 2), safety=2)
    with_change, without = [], []
    for _ in range(CHANGES):
        offer = agent.offer("size", value.now, 3 - value.now, at=run.last_step + 3)
        run.exchange()
        run.step()
        agent.commit(offer)
        run.step()
        with_change.append(_nanoseconds(run))
        agent.socket.lines()
        without.append(_nanoseconds(run))
    ours.send("end")
    server.join()
    run.finish()
    agent.close()
    return (median(with_change) - median(without)) * 1e-9


def _nanoseconds(run: Run) -> int:
    began = time.perf_counter_ns()
    run.step()
    return time.perf_counter_ns() - began


def _serve(connection: Connection) -> None:
    """Keep the store of a job, in a process of its own."""
    from torch.distributed import TCPStore  # noqa: PLC0415  it may be missing

    store = TCPStore("127.0.0.1", 0, None, True, wait_for_workers=False)
    connection.send(store.port)
    connection.recv()


if __name__ == "__main__":
    main()
