"""Fill the memory of a real control group until the kernel kills, and see if alerts come before: needs root.

A real agent sits in the group, a real collector diagnoses it and notifies a webhook with its default delays, and a real
Prometheus with the shipped rules scrapes the collector every 15 s.

python -m tests.benchmarks.fast_filling [--seconds 60] [--megabytes 600] [--record FILE]
"""

import argparse
import contextlib
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from tests.benchmarks.figure import Figure, at_least, at_most, plain, report
from tests.grafana.prometheus import Prometheus
from tests.processes import Agent, Collector, wait_for
from tests.receiver import Receiver

SCRAPE_SECONDS = 15
RULE_SECONDS = 5
"""How often the rules of risks are evaluated."""

QUIET_SECONDS = 45.0
"""Before the filling begins, so that the group has a past."""

SPEEDS = (60.0, 40.0, 20.0)
"""Seconds from an empty group to the kill. The slowest has four scrapes, the fastest one or two."""

ALERT = "FlyballHostOomRisk"
RECORDED = ("flyball_risk_left_seconds", "flyball_condition_active", "flyball_condition_info",
            "flyball_cgroup_oom_kills_total", "flyball_oom_kills_total")  # fmt: skip

FILL = """
import sys, time
quiet, seconds, size = float(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3])
time.sleep(quiet)
kept, began, block = [], time.monotonic(), 1 << 20
while True:
    due = min(1.2, (time.monotonic() - began) / seconds) * size
    while len(kept) * block < due:
        kept.append(bytearray(b"x") * block)
    time.sleep(0.02)
"""
"""Touches memory steadily until it is killed: at that speed the group is full after so many seconds."""


class Filled(NamedTuple):
    """The times of what happened, in seconds after the filling began. `None`: never."""

    raised: float | None
    posted: float | None
    alerted: float | None
    killed: float


def main() -> None:
    """Measure and report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, nargs="*", default=SPEEDS)
    parser.add_argument("--megabytes", type=int, default=600)
    parser.add_argument("--record", type=Path, help="write the series that Prometheus scraped, as a test of promtool")
    options = parser.parse_args()
    figures: list[Figure] = []
    for seconds in options.seconds:
        with tempfile.TemporaryDirectory() as folder, control_group(options.megabytes << 20) as group:
            filled = fill(Path(folder), group, seconds, options.megabytes << 20, options.record)
        print(f"filled in {seconds:g} s: {filled}", file=sys.stderr)
        figures += figures_of(seconds, filled)
    report(figures)


def figures_of(seconds: float, filled: Filled) -> list[Figure]:
    """Return what one filling shows: how long before the kill each word came. Below 0: after it, or never."""
    never = -filled.killed

    def ahead(at: float | None) -> float:
        return filled.killed - at if at is not None else never

    lag = math.inf if filled.alerted is None or filled.raised is None else filled.alerted - filled.raised
    of = f"a group of the agent that fills in {seconds:g} s"
    return [
        plain(f"kill, {seconds:g} s", filled.killed, "s", "after the filling began"),
        at_least(f"condition before the kill, {seconds:g} s", ahead(filled.raised), 0, "s", of),
        at_least(f"notification before the kill, {seconds:g} s", ahead(filled.posted), 0, "s", "default delays"),
        plain(f"Prometheus alert before the kill, {seconds:g} s", ahead(filled.alerted), "s", "below 0: after it"),
        at_most(f"Prometheus alert after the condition, {seconds:g} s", lag, SCRAPE_SECONDS + RULE_SECONDS + 1, "s",
                "a scrape every 15 s, the rules of risks every 5 s"),
    ]  # fmt: skip


@contextlib.contextmanager
def control_group(limit: int) -> Iterator[Path]:
    """Yield a group with a memory limit below that of this process, of version 1 or 2."""
    group = _parent() / f"flyball-filling-{os.getpid()}"
    group.mkdir()
    first = (group / "memory.limit_in_bytes").exists()
    (group / ("memory.limit_in_bytes" if first else "memory.max")).write_text(str(limit))
    no_swap = group / ("memory.memsw.limit_in_bytes" if first else "memory.swap.max")
    if no_swap.exists():  # what goes to swap is not killed
        no_swap.write_text(str(limit if first else 0))
    try:
        yield group
    finally:
        wait_for("the group is empty", lambda: not (group / "cgroup.procs").read_text().strip(), seconds=20)
        group.rmdir()


def _parent() -> Path:
    root = Path("/sys/fs/cgroup")
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if "memory" in controllers.split(","):
            return root / "memory" / path.lstrip("/")
    return root


def in_group(group: Path, command: Sequence[str]) -> list[str]:
    """Return a command that joins the group first."""
    return ["sh", "-c", f'echo $$ > {group}/cgroup.procs && exec "$@"', "sh", *command]


class GroupedAgent(Agent):
    """An agent in a control group."""

    def join(self, group: Path) -> "GroupedAgent":
        """Start it in this group."""
        self._command = in_group(group, self._command)
        return self


def fill(folder: Path, group: Path, seconds: float, size: int, record: Path | None) -> Filled:
    """Start everything, fill the group, and wait for what comes."""
    with ExitStack() as stack:
        receiver = stack.enter_context(Receiver(folder / "receiver")).start_listening()
        settings = {"notify.webhook.urls": json.dumps([receiver.url])}
        collector = stack.enter_context(Collector(folder / "collector", settings)).start_ready()
        agent = stack.enter_context(GroupedAgent(folder / "agent", collector.grpc_port).join(group))
        agent.start()
        prometheus = Prometheus(folder / "prometheus", collector.http_port, each_host=False, seconds=SCRAPE_SECONDS)
        stack.enter_context(prometheus).start()
        wait_for("Prometheus has scraped", lambda: _query(prometheus, "flyball_agent_up == 1"), seconds=60)
        command = in_group(group, [sys.executable, "-c", FILL, str(QUIET_SECONDS), str(seconds), str(size)])
        filler = subprocess.Popen(command)
        stack.callback(filler.kill)
        began = time.time() + QUIET_SECONDS
        filler.wait(timeout=QUIET_SECONDS + 4 * seconds + 60)
        killed = time.time()
        deadline = killed + 2 * SCRAPE_SECONDS + 5
        while time.time() < deadline and not _alerted(prometheus):
            time.sleep(1)
        if record is not None:
            time.sleep(90)  # the end of the alert belongs to the recording
            record.write_text(recording(prometheus, began - 30))
        return Filled(_since(_raised(collector), began), _posted(receiver, began), _since(_alerted(prometheus), began),
                      killed - began)  # fmt: skip


def _query(prometheus: Prometheus, expression: str) -> Any:
    return prometheus.get("query", query=expression)["result"]


def _alerted(prometheus: Prometheus) -> float | None:
    """Return when the alert fired first."""
    found = _query(prometheus, f'ALERTS{{alertname="{ALERT}",alertstate="firing"}}[10m]')
    return min((float(point[0]) for series in found for point in series["values"]), default=None)


def _raised(collector: Collector) -> float | None:
    events = collector.get("/api/v1/events?kind=memory_exhaustion&limit=50")["events"]
    return min((_unix(each["time"]) for each in events if each["state"] == "raised"), default=None)


def _posted(receiver: Receiver, began: float) -> float | None:
    """Return when the first message about memory was accepted."""
    times = [post.json["time"] for post in receiver.posts() if "memory_exhaustion" in str(post.json["group"])]
    return _since(min(map(_unix, times), default=None), began)


def _unix(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


def _since(at: float | None, began: float) -> float | None:
    return None if at is None else at - began


def recording(prometheus: Prometheus, start: float) -> str:
    """Return the scraped series as input of `promtool test rules`, one value for each scrape."""
    series = []
    for name in RECORDED:
        for found in _query(prometheus, f"{name}[10m]"):
            labels = {k: v for k, v in found["metric"].items() if k not in {"__name__", "job"}}
            points = {round((float(at) - start) / SCRAPE_SECONDS): value for at, value in found["values"]}
            values = [points.get(slot, "_") for slot in range(max(points) + 1)]
            text = ",".join(f"{key}={json.dumps(value, ensure_ascii=False)}" for key, value in sorted(labels.items()))
            series.append({"series": f"{name}{{{text}}}", "values": " ".join([*values, "stale"])})
    return yaml.safe_dump(series, allow_unicode=True, width=200, sort_keys=False)


if __name__ == "__main__":
    main()
