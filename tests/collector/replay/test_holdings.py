"""Who holds which GPU in a CSV series, and what that lets the diagnosis say."""

import random
from collections.abc import Iterator
from pathlib import Path

from flyball_collector.replay.csv_series import read
from flyball_collector.replay.holdings import Holdings, Noted
from flyball_collector.replay.played_events import PlayedEvent, play_csv

INTERVAL = 30
TURN = 1800
"""When something happens to the second of the four GPUs."""


def lines(*, slow_clock: bool = False, ends: bool = False, spins: bool = False) -> Iterator[str]:
    """Four ranks whose collectives make all steps equally long, a line a GPU with the step that its rank made."""
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


def told(tmp_path: Path, rows: Iterator[str]) -> list[PlayedEvent]:
    """Everything but bottlenecks."""
    head = "timestamp,gpu,gpu_utilization_ratio,gpu_power_watts,gpu_power_limit_watts,gpu_sm_clock_hertz"
    path = tmp_path / "series.csv"
    path.write_text(f"{head},worker,step_seconds,step\n" + "".join(rows), encoding="utf-8")
    events = [event for _, found in play_csv(read([path])) for event in found]
    return [event for event in events if not event["kind"].startswith("bottleneck")]


def gpus(holdings: Holdings, seconds: float, host: str = "a") -> list[tuple[int, str]]:
    """Which rank holds which GPU."""
    tenancy = holdings.tenancies.get(holdings.digest(host, seconds))
    return sorted((member.rank, gpu) for member in (tenancy.members if tenancy else ()) for gpu in member.gpus)


def test_where_all_steps_are_equally_long_the_slow_clock_is_told(tmp_path: Path) -> None:
    """Of the rank that holds the GPU, named as the input names both; nobody else."""
    (event,) = told(tmp_path, lines(slow_clock=True))
    assert (event["kind"], event["worker"], event["gpu"], event["gpu_index"]) == ("straggler", "1", "1", 1)
    assert "clock is 7" in event["because"]
    assert TURN < event["time"] <= TURN + 300  # type: ignore[operator]  # numbers were written


def test_a_training_that_ended_does_not_hang(tmp_path: Path) -> None:
    """Its GPUs idle: nobody holds them any more."""
    assert told(tmp_path, lines(ends=True)) == []


def test_gpus_that_are_busy_without_a_step_hang(tmp_path: Path) -> None:
    """A collective spins at low power, and no step ends."""
    assert [event["kind"] for event in told(tmp_path, lines(spins=True))] == ["run_hang"]


def test_a_line_says_who_holds_its_gpu_until_the_last_step() -> None:
    """And beyond it for as long as the GPU is busy without a break."""
    noted = Noted()
    for at in range(10):
        for worker, gpu in (("x", "0"), ("y", "1")):
            busy = 0.9 if at < 6 or gpu == "1" else 0.0
            noted.note("a", at, worker, gpu, busy, step=at <= 3)
    noted.note("a", 10, "", "1", 0.9, step=False)
    noted.note("a", 11, "", "1", None, step=False)
    noted.note("a", 12, "", "1", 0.9, step=False)
    found = noted.holdings("r", {"x": 0, "y": 1})
    assert gpus(found, 0) == gpus(found, 5) == [(0, "0"), (1, "1")]
    assert gpus(found, 6) == gpus(found, 10) == [(1, "1")]
    assert gpus(found, 11) == gpus(found, 12) == []


def test_a_hosts_only_worker_holds_all_of_its_gpus() -> None:
    """Also where steps and readings stand in lines of their own; of two workers nothing is known."""
    noted = Noted()
    for host, workers in (("a", ("x",)), ("b", ("y", "z"))):
        for gpu in ("0", "1"):
            noted.note(host, 0, "", gpu, 0.9, step=False)
        for worker in workers:
            noted.note(host, 1, worker, "", None, step=True)
    found = noted.holdings("r", {"x": 0, "y": 1, "z": 2})
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
