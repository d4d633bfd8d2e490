"""Benchmarks run one after the other, and each may fail alone."""

from dataclasses import replace
from pathlib import Path

from flyball.host.benchmarks.benchmark_names import BENCHMARKS, TITLES, BenchmarkProgress, checked_names
from flyball.host.benchmarks.benchmark_run import run_benchmarks
from flyball.host.benchmarks.benchmark_targets import BenchmarkTargets
from flyball.host.hardware_parts import HostMemory, HostTier, WorkingFolder
from flyball.host.hardware_profile import HardwareProfile
from tests.client.host.benchmarks.test_mongo_benchmark import free_port


def test_a_benchmark_that_fails_leaves_its_reason_and_the_next_one_runs(tmp_path: Path) -> None:
    """No MongoDB, no disk to write, too little memory: the network is measured nevertheless."""
    profile = HardwareProfile(
        tier=HostTier.LOW, memory=HostMemory(available_bytes=2**20), folder=WorkingFolder(path=str(tmp_path / "none"))
    )
    targets = replace(BenchmarkTargets(), mongodb_url=f"mongodb://127.0.0.1:{free_port()}")
    seen: list[BenchmarkProgress] = []
    found, reasons = run_benchmarks(profile, targets, ("memory", "disk", "network", "mongo"), seen.append)
    assert found.network is not None
    assert (found.memory, found.disk, found.mongo, found.gpus) == (None, None, None, ())
    assert {"benchmarks.memory", "benchmarks.disk", "benchmarks.mongo"} <= reasons.keys()
    assert reasons["benchmarks.gpus"] == "this benchmark was not chosen"
    ends = [each for each in seen if each.seconds is not None]
    assert [each.name for each in ends if each.reason] == ["memory", "disk", "mongo"]
    assert found.seconds.keys() == {"memory", "disk", "network", "mongo"}


def test_progress_prints_a_line() -> None:
    """`progress=print` shows what is measured, then its time or why it could not be measured."""
    assert str(BenchmarkProgress("disk", 3, 6)) == "3/6 disk of the working folder …"
    assert str(BenchmarkProgress("disk", 3, 6, seconds=1.96)) == "3/6 disk of the working folder: 2.0 s"
    assert str(BenchmarkProgress("mongo", 5, 6, 1.0, "no server")) == "5/6 MongoDB: not measured: no server"


def test_each_benchmark_has_a_title_and_a_place_in_the_order() -> None:
    """Names are accepted in any order, and one name alone too."""
    assert set(TITLES) == set(BENCHMARKS)
    assert checked_names(["mongo", "processor"]) == ("processor", "mongo")
    assert checked_names("disk") == ("disk",)
    assert BenchmarkProgress("disk", 1, 2).title == TITLES["disk"]
