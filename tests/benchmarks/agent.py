"""Measure the agent against node_exporter, scraped each second on the same machine in the same minutes."""

import multiprocessing
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from signal import SIGCONT, SIGSTOP

import psutil

from flyball_agent.standin.scenarios import start_standin
from flyball_collector.blocks.codec import decode
from flyball_collector.store.store_urls import open_store
from tests.benchmarks.figure import Figure, at_most, plain, report
from tests.processes import Agent, Collector, Process, free_port, wait_for

QUIET_SECONDS = 60
BUSY_SECONDS = 60
CHANGING_SECONDS = 60
INTERFACE = "flyb"
SLOWDOWN_ROUNDS = 120
SLOWDOWN_BOUND = 0.001
GPUS = 8


def main() -> None:
    """Measure and report."""
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        directory = Path(name)
        collector = stack.enter_context(Collector(directory / "collector"))
        collector.start_ready()
        library = start_standin(directory / "standin", "steady", GPUS)
        agent = stack.enter_context(Agent(directory / "agent", collector.grpc_port, {"nvml_library": library}))
        agent.start()
        wait_for("the agent is seen", lambda: collector.get("/api/v1/hosts")["hosts"])
        exporter = stack.enter_context(node_exporter(directory))
        figures = [*cost(agent, exporter), *changing_interfaces(agent, exporter), *slowdown(agent)]
        figures += jitter(agent, collector)
    report(figures)


@contextmanager
def node_exporter(directory: Path) -> Iterator[Process]:
    """Debian's node_exporter with its default collectors, scraped once a second by a thread of ours."""
    port = free_port()
    command = ["prometheus-node-exporter", f"--web.listen-address=127.0.0.1:{port}"]
    stop = threading.Event()
    with Process(command, directory / "node_exporter.log") as process:
        process.start()
        wait_for("node_exporter answers", lambda: _scrape(port))
        scraper = threading.Thread(target=_scrape_each_second, args=(port, stop))
        scraper.start()
        try:
            yield process
        finally:
            stop.set()
            scraper.join()


def _scrape(port: int) -> int:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5) as answer:
        return len(answer.read())


def _scrape_each_second(port: int, stop: threading.Event) -> None:
    while not stop.wait(1 - time.time() % 1):
        _scrape(port)


def cost(agent: Process, exporter: Process) -> list[Figure]:
    """CPU and memory of both over the same minute."""
    _progress(f"CPU of both for {QUIET_SECONDS} s")
    time.sleep(5)
    before = agent.cpu_seconds(), exporter.cpu_seconds()
    started = time.monotonic()
    time.sleep(QUIET_SECONDS)
    seconds = time.monotonic() - started
    ours = (agent.cpu_seconds() - before[0]) / seconds * 1000
    theirs = (exporter.cpu_seconds() - before[1]) / seconds * 1000
    return [
        plain("agent, CPU", ours, "ms/s", f"all host probes, {GPUS} stand-in GPUs, spool and stream"),
        plain("agent, share of this machine's cores", ours / 1000 / (os.cpu_count() or 1), "ratio"),
        plain("node_exporter, CPU", theirs, "ms/s", "scraped each second; no GPUs"),
        at_most("agent / node_exporter, CPU", ours / theirs, 0.35, "ratio"),
        at_most("agent, resident", agent.resident_bytes() / 1e6, 50, "MB"),
        plain("node_exporter, resident", exporter.resident_bytes() / 1e6, "MB"),
    ]


def changing_interfaces(agent: Process, exporter: Process) -> list[Figure]:
    """CPU, descriptors and memory while network interfaces come and go: one that flaps, others with new names."""
    _progress(f"interfaces that come and go for {CHANGING_SECONDS} s")
    process = psutil.Process(agent.pid)
    if _ip("add", f"{INTERFACE}0").returncode:
        return [plain("interfaces that come and go", 0, "", "not measured: creating an interface needs root")]
    _change_interfaces(CHANGING_SECONDS / 4)  # the first changes apply at once
    before = agent.cpu_seconds(), exporter.cpu_seconds(), process.num_fds(), agent.resident_bytes()
    _change_interfaces(CHANGING_SECONDS)
    after = agent.cpu_seconds(), exporter.cpu_seconds(), process.num_fds(), agent.resident_bytes()
    _ip("del", f"{INTERFACE}0")
    ratio = (after[0] - before[0]) / (after[1] - before[1])
    return [
        at_most("interfaces that come and go: agent / node_exporter, CPU", ratio, 0.4, "ratio", "a change every 2 s"),
        at_most("interfaces that come and go: descriptors", after[2] - before[2], 10, "more"),
        plain("interfaces that come and go: memory", (after[3] - before[3]) / 1e6, "MB more"),
    ]


def _change_interfaces(seconds: float) -> None:
    """Take the first interface away and back, and replace one by another with a new name, every two seconds."""
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        name = f"{INTERFACE}{time.monotonic_ns() // 10**6 % 10**8}"
        _ip("del", f"{INTERFACE}0")
        _ip("add", name)
        time.sleep(2)
        _ip("add", f"{INTERFACE}0")
        _ip("del", name)
        time.sleep(2)


def _ip(action: str, name: str) -> "subprocess.CompletedProcess[bytes]":
    kind = ["type", "bridge"] if action == "add" else []
    return subprocess.run(["ip", "link", action, name, *kind], capture_output=True, check=False)


def slowdown(agent: Process) -> list[Figure]:
    """A computing loop, with the agent running and stopped in turn: how much less it gets done beside it."""
    _progress(f"slowdown of a loop, {SLOWDOWN_ROUNDS} pairs of half-seconds")
    counter = multiprocessing.Value("Q", 0)
    loop = multiprocessing.Process(target=_count, args=(counter,), daemon=True)
    loop.start()
    time.sleep(1)
    ratios = []
    for turn in range(SLOWDOWN_ROUNDS):
        rates = {}
        for running in (True, False) if turn % 2 else (False, True):  # whatever drifts cancels
            agent.send(SIGCONT if running else SIGSTOP)
            rates[running] = _rate(counter, 0.5)
        ratios.append(1 - rates[True] / rates[False])
    agent.send(SIGCONT)
    loop.kill()
    middle = statistics.median(ratios)
    error = 1.25 * statistics.stdev(ratios) / len(ratios) ** 0.5  # of a median
    decided = abs(middle - SLOWDOWN_BOUND) > 2 * error
    verdict = "" if decided else "not decided: this machine's noise is larger; "
    note = f"{verdict}one loop, {SLOWDOWN_ROUNDS} pairs, standard error {error:.2%}"
    met = middle <= SLOWDOWN_BOUND if decided else None
    return [Figure("training loop, slowdown", middle, "ratio", f"≤ {SLOWDOWN_BOUND:g}", met, note)]


def _count(counter: "multiprocessing.sharedctypes.Synchronized[int]") -> None:
    raw = counter.get_obj()
    while True:
        raw.value += sum(range(200)) > 0


def _rate(counter: "multiprocessing.sharedctypes.Synchronized[int]", seconds: float) -> float:
    raw, started = counter.get_obj(), time.monotonic()
    before = raw.value
    time.sleep(seconds)
    return (raw.value - before) / (time.monotonic() - started)


def jitter(agent: Process, collector: Collector) -> list[Figure]:
    """Measure the distance of samples from the full second while every core is busy."""
    _progress(f"jitter with every core busy, {BUSY_SECONDS} s")
    hogs = [multiprocessing.Process(target=_hog, daemon=True) for _ in range(multiprocessing.cpu_count())]
    for hog in hogs:
        hog.start()
    started_ns = time.time_ns()
    time.sleep(BUSY_SECONDS)
    ended_ns = time.time_ns()
    for hog in hogs:
        hog.kill()
    agent.stop()
    collector.stop()
    store = open_store(f"sqlite:///{collector.database}")
    times = [
        int(at)
        for block in store.read_blocks("node-1", started_ns, ended_ns)
        for group in decode(block.payload)
        for at in group.agent_ns
        if started_ns <= at < ended_ns
    ]
    store.close()
    late = sorted(min(at % 10**9, 10**9 - at % 10**9) / 1e6 for at in times)
    return [
        plain("ticks made while busy", len(late), "ticks", f"of {BUSY_SECONDS}"),
        at_most("jitter, p99", late[int(0.99 * (len(late) - 1))], 20, "ms", "every core busy with a loop each"),
    ]


def _hog() -> None:
    while True:
        sum(range(10_000))


def _progress(what: str) -> None:
    print(f"  {what}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
