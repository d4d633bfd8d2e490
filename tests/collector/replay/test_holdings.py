"""The holders of GPUs in a CSV series, and the conditions that the diagnosis finds with them."""

import random
from collections.abc import Iterator
from pathlib import Path

from flyball_collector.replay.csv_series import read
from flyball_collector.replay.holdings import Holdings, HoldingsObserver
from flyball_collector.replay.played_events import PlayedEvent, play_csv

INTERVAL = 30
TURN = 1800
"""The time at which the second of the four GPUs changes."""


def lines(*, slow_clock: bool = False, ends: bool = False, spins: bool = False) -> Iterator[str]:
    """Yield lines of four ranks whose collectives make all steps equal, one line per GPU with its rank's step."""
    noise = random.Random(1)
    for number, at in enumerate(range(0, 2 * TURN, INTERVAL)):
        later = at >= TURN
        seconds = noise.uniform(0.495, 0.505) * (1.4 if later and slow_clock else 1.0)
        for gpu in range(4):
            clock = 1.2e9 if later and slow_clock and gpu == 1 else 1.7e9
            over = later and (ends or spins)
            busy, watts = (0.0, 90.0) if over and ends else (1.0, 200.0 if over else 600.0)
            step = f"{seconds:.4f},{number}" if not over else ","
            yield (
                f"{at},{gpu},{busy},{watts + noise.uniform(-5, 5):.1f},700,{clock + noise.uniform(-1e7, 1e7):.0f},"
                f"{gpu},{step}\n"
            )


def replayed_events(tmp_path: Path, rows: Iterator[str]) -> list[PlayedEvent]:
    """Return all events except bottlenecks."""
    head = "timestamp,gpu,gpu_utilization_ratio,gpu_power_watts,gpu_power_limit_watts,gpu_sm_clock_hertz"
    path = tmp_path / "series.csv"
    path.write_text(f"{head},worker,step_seconds,step\n" + "".join(rows), encoding="utf-8")
    events = [event for _, found in play_csv(read([path])) for event in found]
    return [event for event in events if not event["kind"].startswith("bottleneck")]


def gpus(holdings: Holdings, seconds: float, host: str = "a") -> list[tuple[int, str]]:
    """Return the rank that holds each GPU."""
    tenancy = holdings.tenancies.get(holdings.digest(host, seconds))
    return sorted((member.rank, gpu) for member in (tenancy.members if tenancy else ()) for gpu in member.gpus)


def test_a_slow_clock_is_found_when_all_steps_are_equally_long(tmp_path: Path) -> None:
    """It is found for the rank that holds the GPU, named as in the input, and for no other."""
    (event,) = replayed_events(tmp_path, lines(slow_clock=True))
    assert (event["kind"], event["worker"], event["gpu"], event["gpu_index"]) == ("straggler", "1", "1", 1)
    assert "clock is 7" in event["because"]
    assert TURN < event["time"] <= TURN + 300  # type: ignore[operator]  # the input has numbers


def test_a_training_that_ended_does_not_hang(tmp_path: Path) -> None:
    """Its GPUs are idle, so it does not hold them any more."""
    assert replayed_events(tmp_path, lines(ends=True)) == []


def test_gpus_that_are_busy_without_a_step_hang(tmp_path: Path) -> None:
    """A collective spins at low power, and no step ends."""
    assert [event["kind"] for event in replayed_events(tmp_path, lines(spins=True))] == ["run_hang"]


def test_a_line_assigns_its_gpu_until_the_last_step() -> None:
    """After that for as long as the GPU is busy without a break."""
    observer = HoldingsObserver()
    for at in range(10):
        for worker, gpu in (("x", "0"), ("y", "1")):
            busy = 0.9 if at < 6 or gpu == "1" else 0.0
            observer.observe("a", at, worker, gpu, busy, step=at <= 3)
    observer.observe("a", 10, "", "1", 0.9, step=False)
    observer.observe("a", 11, "", "1", None, step=False)
    observer.observe("a", 12, "", "1", 0.9, step=False)
    found = observer.holdings("r", {"x": 0, "y": 1})
    assert gpus(found, 0) == gpus(found, 5) == [(0, "0"), (1, "1")]
    assert gpus(found, 6) == gpus(found, 10) == [(1, "1")]
    assert gpus(found, 11) == gpus(found, 12) == []


def test_a_hosts_only_worker_holds_all_of_its_gpus() -> None:
    """Also if steps and readings are on separate lines; with two workers nothing is known."""
    observer = HoldingsObserver()
    for host, workers in (("a", ("x",)), ("b", ("y", "z"))):
        for gpu in ("0", "1"):
            observer.observe(host, 0, "", gpu, 0.9, step=False)
        for worker in workers:
            observer.observe(host, 1, worker, "", None, step=True)
    found = observer.holdings("r", {"x": 0, "y": 1, "z": 2})
    assert gpus(found, 1) == [(0, "0"), (0, "1")]
    assert gpus(found, 1, "b") == []
    assert found.gpus == {("a", 0): ["0", "1"]}


def test_steps_on_lines_of_gpus_without_a_worker_are_one_workers_each(tmp_path: Path) -> None:
    """Eight lines of one host at one instant are not eight steps of one worker."""
    path = tmp_path / "series.csv"
    path.write_text("timestamp,host,gpu,gpu_power_watts,step_seconds\n0,a,0,500,1\n0,a,1,500,1\n", encoding="utf-8")
    series = read([path])
    assert series.workers == ("a/0", "a/1")
    assert series.holdings.gpus == {("a", 0): ["0"], ("a", 1): ["1"]}
