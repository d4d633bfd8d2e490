"""Tests of the utilisation of processes that share a GPU."""

from pathlib import Path

import pytest

from flyball_agent.accelerators.nvidia_processes import newest_shares
from flyball_agent.standin.cards import H100
from flyball_agent.standin.scenario import Scenario
from tests.agent.accelerators.nvidia_bench import Bench


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def shares(bench: Bench) -> dict[int, float | None]:
    """Return the utilisation of each process; None if it is unknown."""
    return {
        process.pid: round(process.utilization_ratio, 3) if process.HasField("utilization_ratio") else None
        for process in bench.probe.processes
    }


def two(first: int, second: int) -> Scenario:
    return Scenario(gpus=1).set(H100).process(0, 100, 1, utilization=first).process(0, 101, 1, utilization=second)


def test_shares_end_when_the_driver_has_no_new_samples(bench: Bench) -> None:
    """If nobody has worked since the last samples, every process was idle: the shares are 0, not the last ones."""
    bench.play(two(90, 5))
    bench.read()
    assert shares(bench) == {100: 0.9, 101: 0.05}
    bench.play(two(90, 5).error("nvmlDeviceGetProcessUtilization", 6))
    bench.read(after=5)
    assert shares(bench) == {100: 0.0, 101: 0.0}


def test_a_process_without_a_sample_was_idle(bench: Bench) -> None:
    """The driver has samples only of processes that worked."""
    bench.play(two(90, 5))
    bench.read()
    bench.play(two(95, 0))
    bench.read(after=5)
    assert shares(bench) == {100: 0.95, 101: 0.0}


def test_shares_are_read_every_five_seconds(bench: Bench) -> None:
    """The query is expensive. In between, the last shares are repeated; that of a new process is unknown."""
    bench.play(two(90, 5))
    bench.read()
    bench.play(two(10, 60).process(0, 102, 1, utilization=30))
    for _ in range(4):
        bench.read()
        assert shares(bench) == {100: 0.9, 101: 0.05, 102: None}
    bench.read()
    assert shares(bench) == {100: 0.1, 101: 0.6, 102: 0.3}


@pytest.mark.parametrize("code", [3, 999])
def test_shares_that_cannot_be_read_are_unknown(bench: Bench, code: int) -> None:
    """A call that is unsupported or fails leaves the shares unknown, and recovers."""
    bench.play(two(90, 5))
    bench.read()
    bench.play(two(90, 5).error("nvmlDeviceGetProcessUtilization", code))
    bench.read(after=5)
    assert shares(bench) == {100: None, 101: None}


def test_failed_shares_recover(bench: Bench) -> None:
    """After a temporary error the shares are read again."""
    bench.play(two(90, 5).error("nvmlDeviceGetProcessUtilization", 999))
    bench.read()
    bench.play(two(70, 20))
    bench.read(after=5)
    assert shares(bench) == {100: 0.7, 101: 0.2}


def test_the_buffer_of_samples_grows(bench: Bench) -> None:
    """More processes than the first buffer holds all have their share."""
    scenario = Scenario(gpus=1).set(H100)
    for pid in range(1, 101):
        scenario.process(0, pid, pid, utilization=1 + pid % 7)
    bench.play(scenario)
    bench.read()
    assert shares(bench) == {pid: (1 + pid % 7) / 100 for pid in range(1, 101)}


def test_the_newest_sample_of_a_process_counts() -> None:
    """Several samples of a process are one share; samples of more than a second ago are over; 100 % is the most."""
    samples = [(1, 9_000_000, 30), (2, 5_000_000, 80), (1, 9_400_000, 40), (3, 9_300_000, 130), (0, 9_300_000, 5)]
    assert newest_shares(samples) == ({1: 0.4, 3: 1.0}, 9_400_000)
    assert newest_shares([]) == ({}, 0)
