"""`HardwareAnalyzerV2` on this machine, on the files of others, and on a machine that shows nothing."""

import dataclasses
import json
import random
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import flyball
from flyball.host.benchmarks.benchmark_names import PROCESSOR, BenchmarkProgress
from flyball.host.hardware_analyzer import HardwareAnalyzerV2
from flyball.host.hardware_parts import GIB, HostBenchmarks, HostMemory, HostProcessor, HostTier, NetworkSpeed
from flyball.host.hardware_profile import HardwareProfile
from flyball.host.machine_reading import read_machine_profile
from flyball.host.places import HostPlaces
from flyball.host.profile_file import load_profile, profile_document, read_profile
from flyball_reports.errors import InputError
from tests.client.host.machine_trees import LAPTOP, SERVER, places_of


def unknown_paths(part: Any, path: str) -> Iterator[str]:
    """Yield the paths of all values of a profile that are None."""
    if part is None:
        yield path
    elif isinstance(part, tuple):
        for position, each in enumerate(part):
            yield from unknown_paths(each, f"{path}.{position}")
    elif dataclasses.is_dataclass(part):
        for field in dataclasses.fields(part):
            yield from unknown_paths(getattr(part, field.name), f"{path}.{field.name}".removeprefix("."))


@pytest.fixture(scope="module")
def this_machine() -> HardwareProfile:
    """Return the profile of the machine that runs the tests."""
    return HardwareAnalyzerV2().analyze_full(benchmarks=False)


def test_this_machine_has_cores_memory_a_folder_and_a_class(this_machine: HardwareProfile) -> None:
    """Wherever the tests run."""
    assert this_machine.cpu_cores is not None
    assert this_machine.cpu_cores >= 1
    assert this_machine.ram_gb is not None
    assert this_machine.ram_gb > 0.1
    assert this_machine.folder is not None
    assert this_machine.folder.free_bytes is not None
    assert isinstance(this_machine.tier, HostTier)
    assert this_machine.software.python_version == sys.version.split()[0]


def test_nothing_is_measured_with_benchmarks_off(this_machine: HardwareProfile) -> None:
    """The measured speeds are None."""
    assert this_machine.benchmarks is None
    assert this_machine.mongo_write_speed is None
    assert this_machine.disk_write_speed is None
    assert this_machine.network_latency_ms is None


def test_without_arguments_all_but_the_gpus_is_measured() -> None:
    """As the first users call it; a GPU may be in use, and takes PyTorch half a minute."""

    def stop(step: BenchmarkProgress) -> None:
        raise InterruptedError(f"{step.name} of {step.total}")

    with pytest.raises(InterruptedError, match="processor of 5"):
        HardwareAnalyzerV2().analyze_full(progress=stop)
    with pytest.raises(InterruptedError, match="processor of 6"):
        HardwareAnalyzerV2().analyze_full(benchmarks=True, progress=stop)


def test_files_of_another_machine_are_never_benchmarked(tmp_path: Path) -> None:
    """The rates would be those of this machine."""
    assert HardwareAnalyzerV2(places=places_of(tmp_path, SERVER)).analyze_full().benchmarks is None


@pytest.mark.parametrize("files", [{}, LAPTOP, SERVER], ids=["nothing", "laptop", "server"])
def test_each_unknown_value_has_a_reason(tmp_path: Path, files: dict[str, str]) -> None:
    """Of a machine that shows nothing, too; only limits may be None without one, because there are none."""
    profile = read_machine_profile(places_of(tmp_path, files))
    paths = set(unknown_paths(replace(profile, benchmarks=HostBenchmarks()), ""))
    expected = {path for path in paths if not path.startswith(("limits.", "benchmarks."))}
    explained = {
        path for path in expected if any(path == at or path.startswith(f"{at}.") for at in profile.unavailable)
    }
    assert expected - explained == set()
    assert all(profile.unavailable.values())


def test_each_unknown_value_of_this_machine_has_a_reason(this_machine: HardwareProfile) -> None:
    """Whatever it is: a container, a virtual machine, or a server with GPUs."""
    paths = {path for path in unknown_paths(this_machine, "") if not path.startswith(("limits.", "benchmarks"))}
    assert {path for path in paths if path not in this_machine.unavailable} == set()


def test_a_profile_takes_less_than_two_seconds_and_imports_neither_torch_nor_numpy() -> None:
    """In a fresh process with all imports, on a busy machine too."""
    program = (
        "import sys, time; began = time.perf_counter(); import flyball; "
        "flyball.HardwareAnalyzerV2().analyze_full(benchmarks=False); took = time.perf_counter() - began; "
        "print(took, [name for name in ('torch', 'numpy', 'pymongo', 'grpc') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    seconds, _, modules = done.stdout.strip().partition(" ")
    assert modules == "[]"
    assert float(seconds) < 10  # 0.3 s on two idle cores; five times the goal of 2 s, for a busy machine


def test_progress_is_reported_before_and_after_each_benchmark() -> None:
    """The caller can show it while the benchmark runs."""
    seen: list[BenchmarkProgress] = []
    profile = HardwareAnalyzerV2().analyze_full(benchmarks=["processor"], progress=seen.append)
    assert [(each.name, each.number, each.total, each.seconds is None) for each in seen] == [
        (PROCESSOR, 1, 1, True),
        (PROCESSOR, 1, 1, False),
    ]
    assert profile.benchmarks is not None
    assert profile.benchmarks.processor is not None
    assert profile.benchmarks.processor.matmul_gflops > 0.1
    assert profile.unavailable["benchmarks.disk"] == "this benchmark was not chosen"


def test_an_unknown_benchmark_is_refused_with_the_nearest_name() -> None:
    """Before anything is measured."""
    with pytest.raises(ValueError, match="there is no benchmark 'disc'; did you mean 'disk'"):
        HardwareAnalyzerV2().analyze_full(benchmarks=["disc"])


def test_a_container_has_the_cores_and_memory_that_it_may_use() -> None:
    """Not those of the machine around it."""
    profile = HardwareProfile(
        tier=HostTier.LOW,
        processor=HostProcessor(physical_cores=64, logical_cpus=128, usable_cpus=2.5),
        memory=HostMemory(total_bytes=512 * GIB, limit_bytes=4 * GIB),
    )
    assert (profile.cpu_cores, profile.ram_gb) == (2, 4.0)
    small = replace(profile, processor=HostProcessor(physical_cores=64, usable_cpus=0.5), memory=HostMemory())
    assert (small.cpu_cores, small.ram_gb) == (1, None)
    assert replace(profile, processor=HostProcessor()).cpu_cores is None


def test_the_latency_is_the_services_or_else_that_to_localhost() -> None:
    """The first users read one number."""
    both = HostBenchmarks(network=NetworkSpeed(localhost_ms=0.03, service_ms=12.0))
    assert HardwareProfile(tier=HostTier.LOW, benchmarks=both).network_latency_ms == 12.0
    local = HostBenchmarks(network=NetworkSpeed(localhost_ms=0.03))
    assert HardwareProfile(tier=HostTier.LOW, benchmarks=local).network_latency_ms == 0.03


def test_a_profile_survives_json(tmp_path: Path, this_machine: HardwareProfile) -> None:
    """A recorded profile is the same as before, and its document has the derived values."""
    path = tmp_path / "profile.json"
    document = profile_document(this_machine)
    path.write_text(json.dumps(document))
    assert load_profile(path) == this_machine
    assert document["cpu_cores"] == this_machine.cpu_cores
    server = read_machine_profile(places_of(tmp_path / "server", SERVER))
    assert read_profile(profile_document(server)) == server


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{", "truncated"),
        ("[]", "expected an object"),
        ('{"tier": "HUGE"}', "Invalid enum value 'HUGE'"),
        ('{"tier": "LOW", "gpus": [{"index": "x"}]}', r"gpus\[0\].index"),
    ],
)
def test_a_damaged_profile_is_refused_with_the_place(tmp_path: Path, text: str, reason: str) -> None:
    """The error names the file or the value."""
    path = tmp_path / "profile.json"
    path.write_text(text)
    with pytest.raises(InputError, match=reason):
        load_profile(path)


def test_the_names_are_available_from_the_package() -> None:
    """As users of the earlier scripts import them."""
    assert flyball.HardwareAnalyzerV2 is HardwareAnalyzerV2
    assert flyball.HardwareProfile is HardwareProfile


def test_the_analyzer_predicts_from_its_own_profile(tmp_path: Path) -> None:
    """A profile is made if there is none."""
    analyzer = HardwareAnalyzerV2(places=places_of(tmp_path, SERVER))
    forecast = analyzer.predict_bottleneck(100_000, 15, 4)
    assert forecast.primary in {"cpu", "disk"}
    assert "database" in forecast.unknown


def test_a_folder_that_does_not_exist_costs_only_its_own_values(tmp_path: Path) -> None:
    """The size is unknown, with a reason, and the rest is there."""
    profile = read_machine_profile(HostPlaces(folder=tmp_path / "none"))
    assert profile.folder is not None
    assert profile.folder.free_bytes is None
    assert profile.unavailable["folder.free_bytes"]
    assert profile.cpu_cores is not None


NASTY = (b"", b"\0", b"9" * 400, b"-1", b"\xff\xfe", b"a b c d e f", b"\n\n", b"1e999", b"18446744073709551615\n")


@pytest.mark.parametrize("seed", range(12))
def test_damaged_files_cost_only_their_own_values(tmp_path: Path, seed: int) -> None:
    """Each file may be empty, missing, a folder, or full of anything: what is unknown then has its reason."""
    rng = random.Random(seed)
    tree = (LAPTOP, SERVER)[seed % 2]
    places = places_of(tmp_path, tree)
    for name in tree:
        path = tmp_path / name
        chance = rng.random()
        if path.is_symlink() or chance > 0.4:
            continue
        path.unlink()
        if chance < 0.3:
            path.write_bytes(rng.choice(NASTY))
        elif chance < 0.35:
            path.mkdir()
    table = tmp_path / "sys/firmware/dmi/tables/DMI"
    table.parent.mkdir(parents=True)
    table.write_bytes(rng.randbytes(rng.randrange(400)))
    profile = read_machine_profile(places)
    assert read_profile(profile_document(profile)) == profile
    unknown = {path for path in unknown_paths(profile, "") if not path.startswith(("limits.", "benchmarks"))}
    assert unknown <= profile.unavailable.keys()
