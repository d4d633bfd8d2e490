"""Measures what the client costs a training: import, calls, reports, memory, slow-down; beside W&B and TensorBoard.

CPU is that of the thread of the training. Times of calls are those of a core whose caches hold the client.
"""

import json
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.benchmarks.client import imports
from tests.benchmarks.client.pairs import STEP_SECONDS, Slowdown
from tests.benchmarks.client.peers import PEERS, measure
from tests.benchmarks.figure import Figure, at_most, plain, report
from tests.processes import Agent, free_port, wait_for

SHORT_SECONDS, FULL_SECONDS = 20.0, 60.0


def main() -> None:
    """Measure and report."""
    with tempfile.TemporaryDirectory() as folder:
        figures = [
            *_imports(),
            *_calls(Path(folder)),
            *_adjustments(Path(folder)),
            *_slowdowns(Path(folder)),
            *_peers(),
        ]
    report(figures)


def _imports() -> Iterator[Figure]:
    bare, opened = imports.cpu_seconds(imports.NOTHING, imports.OPENED)
    yield at_most("import", (opened - bare) * 1e3, 15, "ms CPU", "and open a run and report; over a bare interpreter")
    modules = imports.loaded_modules()
    slow = imports.forbidden(modules)
    others = sorted(name for name in modules if name.split(".")[0] != "flyball")
    note = f"{len(modules) - len(others)} of our modules, and {', '.join(others)}"
    yield at_most("slow modules loaded", len(slow), 0, "modules", ", ".join(sorted(slow)) or note)
    yield plain("memory of the import and a run", imports.resident_bytes() / 2**20, "MiB", "mostly code")


def _calls(folder: Path) -> Iterator[Figure]:
    costs = _run("calls", str(folder / "calls.sock"))
    loop = costs["nothing"]
    for name, bound, what in (("step", 2.0, "step(tokens, loss)"), ("mark", 1.5, "mark"), ("section", 3.0, "section")):
        yield at_most(what, (costs[name] - loop) * 1e6, bound, "µs CPU")
    yield plain("item of data()", (costs["item"] - loop) * 1e6, "µs CPU")
    yield plain("call of a service", (costs["call"] - loop) * 1e6, "µs CPU", "also a section of its own")
    note = "median, with three sections and an agent that answers"
    yield at_most("report a second", costs["report"] * 1e6, 20, "µs", note)
    yield at_most("growth over 200,000 steps and their reports", costs["memory_bytes"] / 2**20, 1, "MiB")


def _adjustments(folder: Path) -> Iterator[Figure]:
    costs = _run("adjusting", str(folder / "adjusting.sock"))
    yield at_most("boundary with declared values, over one without", costs["declared"] * 1e6, 10, "µs CPU")
    note = "the socket is read each 50 ms"
    yield at_most("boundary while an offer is pending, over one without", costs["pending"] * 1e6, 10, "µs CPU", note)
    if costs["commit"] is not None:
        note = "median; socket, compare-and-set in a TCPStore of another process, the change, the answer"
        yield at_most("step at which a change is made, over one without", costs["commit"] * 1e6, 200, "µs", note)


def _slowdowns(folder: Path) -> Iterator[Figure]:
    """Measure with an agent, with one that is stopped and whose queue is full, and without one."""
    with Agent(folder / "agent", free_port()) as agent:
        agent.start()
        wait_for("the agent listens", agent.socket.exists)
        with_agent = _run("pairs", str(agent.socket), str(SHORT_SECONDS), str(FULL_SECONDS), "")
        agent.send(signal.SIGSTOP)
        stuck = _run("pairs", str(agent.socket), str(SHORT_SECONDS), "0", "fill")
    absent = _run("pairs", str(folder / "no.sock"), str(SHORT_SECONDS), "0", "")
    how = "data(), three marks, step(tokens, loss), a report in 100 steps; the work of a step takes 0.3 ms"
    for name, found in (("an agent", with_agent), ("an agent that is stuck", stuck), ("no agent", absent)):
        yield _slowdown(f"slow-down of steps of 10 ms, {name}", found["short"], how)
    cold = "pairs of whole steps, whose work in C empties the caches; noisier"
    yield _slowdown("the same, an agent, whole steps", with_agent["full"], cold)
    yield _slowdown("the same, data() and step() alone, whole steps", with_agent["two lines"], cold)


def _slowdown(name: str, found: list[float], note: str) -> Figure:
    ratio, low, high = Slowdown(*found).ratio()
    return at_most(name, ratio * 100, 0.1, "%", f"{note}; 95 %: {low:.3%} to {high:.3%}")


def _peers() -> Iterator[Figure]:
    for peer in PEERS:
        cost = measure(peer)
        if isinstance(cost, str):
            print(f"{peer.name}: {cost}", file=sys.stderr)
            continue
        share = cost.step / STEP_SECONDS
        yield plain(f"{peer.name}: import", cost.imported * 1e3, "ms CPU", peer.package)
        yield plain(f"{peer.name}: import and open", cost.opened * 1e3, "ms CPU")
        note = f"six values; p99 {cost.step_p99 * 1e6:.0f} µs; {share:.1%} of a step of 10 ms"
        yield plain(f"{peer.name}: a step", cost.step * 1e6, "µs CPU", note)


def _run(module: str, *arguments: str) -> dict[str, Any]:
    command = [sys.executable, "-m", f"tests.benchmarks.client.{module}", *arguments]
    ended = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True)
    return dict(json.loads(ended.stdout.splitlines()[-1]))


if __name__ == "__main__":
    main()
