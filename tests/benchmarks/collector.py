"""A fleet against one collector process: 2,048 hosts × 8 GPUs over mTLS at 1 Hz, scraped, killed and restarted."""

import argparse
import itertools
import json
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flyball_collector.security.certs import Authority, Part
from tests.benchmarks.figure import Figure, at_most, plain, report
from tests.benchmarks.prometheus_peer import cpu_per_host_second
from tests.processes import Collector, wait_for
from tests.stored import read_stored

LOADERS = 2
RAMP_SECONDS = 40
SETTLE_SECONDS = 70  # the first blocks are complete a minute after the ramp: from then on it is the steady state
MEASURE_SECONDS = 60
DOWN_SECONDS = 60
CATCH_UP_SECONDS = 120
PEER_HOSTS = 256
PEER_SECONDS = 30
LEAST_TAKEN = 0.5  # with less, what is measured is the machine's distress
LAG = "flyball_collector_lag_seconds"
LOOP = "flyball_collector_event_loop_lag_seconds"


@dataclass(frozen=True, slots=True)
class Fleet:
    """The size of it, and how often it sends."""

    hosts: int
    send_every_ms: int
    ranks: int = 0  # that train on each host

    @property
    def what(self) -> str:
        every = f", a message each {self.send_every_ms / 1000:g} s" if self.send_every_ms != 1000 else ""
        ranks = f", {self.ranks * self.hosts:,} ranks" if self.ranks else ""
        return f"{self.hosts:,} hosts × 8 GPUs, mTLS{every}{ranks}"


def main() -> None:
    """Measure and report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hosts", type=int, default=2048)
    parser.add_argument("--send-every-ms", type=int, default=1000)
    parser.add_argument("--ranks", type=int, default=0, help="that train on each host")
    parser.add_argument("--no-restart", action="store_true")
    parser.add_argument("--no-peer", action="store_true")
    options = parser.parse_args()
    fleet = Fleet(options.hosts, options.send_every_ms, options.ranks)
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        figures = measure_fleet(directory, fleet, restart=not options.no_restart)
        if not options.no_peer:
            _progress(f"Prometheus scrapes {PEER_HOSTS} hosts for {PEER_SECONDS} s")
            peer = cpu_per_host_second(directory, PEER_HOSTS, PEER_SECONDS)
            note = f"{PEER_HOSTS} targets of as many series, scraped each second without TLS"
            figures.append(plain("Prometheus, CPU a host-second", peer * 1e6, "µs", note))
            figures.append(plain("collector / Prometheus, CPU a host-second", figures[1].value / peer / 1e6, "ratio"))
    report(figures)


def measure_fleet(directory: Path, fleet: Fleet, *, restart: bool) -> list[Figure]:
    """Everything that one run of the fleet shows."""
    settings = secured(directory, fleet)
    seconds = RAMP_SECONDS + SETTLE_SECONDS + MEASURE_SECONDS + 30
    if restart:
        seconds += DOWN_SECONDS + CATCH_UP_SECONDS
    with ExitStack() as stack:
        collector = stack.enter_context(Collector(directory / "collector", settings)).start_ready()
        loaders = stack.enter_context(generated(directory, collector, fleet, seconds))
        _progress(f"{fleet.what}: ramp and first blocks, {RAMP_SECONDS + SETTLE_SECONDS} s")
        time.sleep(RAMP_SECONDS + SETTLE_SECONDS)
        figures = [*steady(collector, fleet), *scraped(collector)]
        if restart:
            figures += restarted(collector, fleet)
        for loader in loaders:
            loader.wait()
        tallies = [json.loads(loader.stdout.read()) for loader in loaders if loader.stdout]
        collector.stop(60)
    figures += whole(collector, fleet, tallies)
    figures.append(plain("generator, CPU", sum(t["cpu_seconds"] for t in tallies) / seconds, "cores", "beside it"))
    return figures


def secured(directory: Path, fleet: Fleet) -> dict[str, object]:
    """A certificate for each host, and the collector's settings."""
    authority = Authority(directory / "ca")
    authority.initialise()
    server = authority.issue("collector", Part.COLLECTOR)
    for number in range(fleet.hosts):
        authority.issue(f"load{number:05d}", Part.AGENT)
    return {
        "grpc.ca_file": authority.ca_file,
        "grpc.certificate_file": server.certificate_file,
        "grpc.key_file": server.key_file,
        "limits.hosts": fleet.hosts + 16,
        "limits.streams": 2 * fleet.hosts + 16,
        "send_every_seconds": fleet.send_every_ms / 1000,
    }


@contextmanager
def generated(
    directory: Path, collector: Collector, fleet: Fleet, seconds: int
) -> Iterator[list[subprocess.Popen[str]]]:
    """The fleet, in processes of its own."""
    share = fleet.hosts // LOADERS
    loaders = []
    for number in range(LOADERS):
        options = {
            "--hosts": share,
            "--first-host": number * share,
            "--seconds": seconds,
            "--send-every-ms": fleet.send_every_ms,
            "--ranks": fleet.ranks,
            "--ramp-seconds": RAMP_SECONDS,
            "--ca-file": directory / "ca" / "ca.crt",
            "--certificates": directory / "ca" / "agents",
        }
        words = [str(word) for word in itertools.chain.from_iterable(options.items())]
        command = [sys.executable, "-m", "tests.benchmarks.fleet_load", f"127.0.0.1:{collector.grpc_port}", *words]
        loaders.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
    try:
        yield loaders
    finally:
        for loader in loaders:
            loader.kill()
            loader.wait()


def steady(collector: Collector, fleet: Fleet) -> list[Figure]:
    """CPU, memory and lag over a minute in which every host's blocks close once."""
    _progress(f"steady for {MEASURE_SECONDS} s")
    before = collector.cpu_seconds(), _metric(collector, "flyball_collector_records_total"), _buckets(collector, LAG)
    started = time.monotonic()
    time.sleep(MEASURE_SECONDS)
    seconds = time.monotonic() - started
    records = _metric(collector, "flyball_collector_records_total") - before[1]
    cpu = collector.cpu_seconds() - before[0]
    late = _since(before[2], _buckets(collector, LAG))
    expected = fleet.hosts * seconds
    if records < LEAST_TAKEN * expected:
        raise SystemExit(too_few(records / expected, fleet))
    note = "received, checked, shown, stored, scored"
    bound = 200 if fleet.send_every_ms == 1000 else 80
    return [
        plain("snapshots taken", records / expected, "of those due", fleet.what),
        at_most("CPU a snapshot", cpu / records * 1e6, bound, "µs", note),
        at_most("collector, CPU", cpu / seconds, 0.5, "cores"),
        at_most("sample to visible, p99", _quantile(late, 0.99), 1.5, "s", "upper bound of its histogram's bucket"),
        at_most("resident", collector.resident_bytes() / 1e9, 1.5, "GB"),
    ]


def too_few(share: float, fleet: Fleet) -> str:
    """Return why this machine cannot generate the fleet, and what to do instead."""
    return (
        f"collector: only {share:.0%} of the snapshots due were taken, so no figure would mean anything: this machine "
        f"is too slow, or too busy, to generate {fleet.hosts:,} hosts beside the collector. Measure it in a quieter "
        f"hour, or fewer: python -m tests.benchmarks.collector --hosts {fleet.hosts // 4}"
    )


def _metric(collector: Collector, name: str) -> float:
    return collector.metric(name) or 0.0


def _buckets(collector: Collector, histogram: str) -> dict[float, float]:
    """Cumulative counts of a histogram by bound."""
    with urllib.request.urlopen(f"{collector.url}/metrics/collector", timeout=60) as answer:
        lines = answer.read().decode().splitlines()
    prefix = f'{histogram}_bucket{{le="'
    found = [line[len(prefix) :].split('"} ') for line in lines if line.startswith(prefix)]
    return {float(bound): float(count) for bound, count in found}


def _since(before: dict[float, float], now: dict[float, float]) -> dict[float, float]:
    return {bound: count - before.get(bound, 0) for bound, count in now.items()}


def _quantile(cumulative: dict[float, float], share: float) -> float:
    total = max(cumulative.values())
    return min(bound for bound, count in cumulative.items() if count >= share * total)


def scraped(collector: Collector) -> list[Figure]:
    """Scrapes of the whole fleet while it reports."""
    _progress("scraped")
    request = urllib.request.Request(f"{collector.url}/metrics", headers={"Accept-Encoding": "gzip"})
    seconds, size, before = [], 0, _buckets(collector, LOOP)
    for _ in range(8):
        time.sleep(1.5)
        started = time.monotonic()
        with urllib.request.urlopen(request, timeout=60) as answer:
            size = len(answer.read())
        seconds.append(time.monotonic() - started)
    stalls = _since(before, _buckets(collector, LOOP))
    return [
        at_most("scrape under load, median", sorted(seconds)[4], 0.5, "s", f"{size / 1e6:.1f} MB gzipped"),
        plain("scrape under load, slowest of 8", max(seconds), "s", "the first: every label is written once"),
        at_most("event loop, worst lag while scraped", _quantile(stalls, 1) * 1000, 100, "ms", "bound of its bucket"),
    ]


def restarted(collector: Collector, fleet: Fleet) -> list[Figure]:
    """Killed, gone for a minute, started again: how long until nobody has a backlog."""
    _progress(f"killed for {DOWN_SECONDS} s")
    collector.kill()
    time.sleep(DOWN_SECONDS)
    started = time.monotonic()
    collector.start()
    wait_for("ready again", lambda: collector.get("/api/v1/hosts?limit=1"), seconds=60, pause_seconds=0.2)
    quiet = 0
    while quiet < 3:  # a host reports its backlog with its first message, a second after it is connected
        quiet = quiet + 1 if _caught_up(collector, fleet) else 0
        if time.monotonic() - started > CATCH_UP_SECONDS:
            break
        time.sleep(1)
    seconds = time.monotonic() - started - quiet
    return [at_most("restart, until caught up", seconds, 60, "s", f"up to {DOWN_SECONDS + 60} s unsettled a host")]


def _caught_up(collector: Collector, fleet: Fleet) -> bool:
    overview = collector.get("/api/v1/hosts?limit=1&sort=backlog&descending=true", timeout_seconds=30)
    streams = _metric(collector, "flyball_collector_streams")
    return bool(streams >= fleet.hosts and overview["hosts"][0]["backlog_bytes"] == 0)


def whole(collector: Collector, fleet: Fleet, tallies: Sequence[Mapping[str, Any]]) -> list[Figure]:
    """Check that the store has every record once, except those that still wait for a grant when the generator ends."""
    sampled, reconnects, waiting = (
        sum(t[name] for t in tallies) for name in ("sampled_records", "reconnects", "waiting")
    )
    _progress("reading the store back")
    stored = doubled = missing = 0
    for number in range(fleet.hosts):
        for found in read_stored(collector.database, f"load{number:05d}").values():
            stored += len(found.rows)
            doubled += sum(count - 1 for count in found.rows.values())
            missing += sum(end - first for first, end in found.present.gaps(min(found.rows), max(found.rows) + 1))
    size = sum(path.stat().st_size for path in collector.directory.glob("flyball.db*"))
    return [
        plain(
            "records stored",
            stored / sampled,
            "of those sampled",
            "those in flight when the generator ends are its own",
        ),
        at_most("records doubled", doubled, 0, "records"),
        at_most("gaps", max(0, missing - waiting), 0, "records", f"{missing:,}, {waiting:,} wait to be replayed"),
        plain("streams disconnected", reconnects, "streams"),
        plain("store", size / stored * 86400 / 1e6, "MB a host-day", "171 columns of generated values"),
    ]


def _progress(what: str) -> None:
    print(f"  {what}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
