"""Bottlenecks that the host's profile predicts, compared with what `flyball profile` then sees on the same host."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from flyball import HardwareAnalyzerV2, HardwareProfile
from flyball.host.bottleneck_forecast import BottleneckForecast, HostRates, forecast_bottleneck
from flyball.host.learner_work import HostWork
from tests.client.profiling.disks import needs_a_disk

FLYBALL = str(Path(sys.executable).parent / "flyball")
SAMPLES_A_WORKER, CHUNK, NODES, TOKENS = 6_000, 15, 4, 500

LEARNER = f"""
import sys
from hashlib import blake2b

def learn(tokens, level):
    names = []
    for begin in range(0, len(tokens), {CHUNK}):
        name = blake2b(" ".join(tokens[begin:begin + {CHUNK}]).encode(), digest_size=20).hexdigest()
        counts[level][name] = counts[level].get(name, 0) + 1
        names.append(name)
    return names

counts = [{{}} for _ in range({NODES})]
data = [[f"token{{(sample * 97 + place * 31) % 5000}}" for place in range({TOKENS})] for sample in range(100)]
for sample in range({SAMPLES_A_WORKER}):
    found = data[sample % 100]
    for level in range({NODES}):
        found = learn(found, level)
"""
"""A hierarchical learner, as its users write one: it shares no code with the benchmark that predicts its time."""

WRITTEN, BLOCK = 160 * 2**20, 4 * 2**20
WRITER = f"""
import os, sys
block = os.urandom({BLOCK})
with open(sys.argv[1], "wb", buffering=0) as file:
    for _ in range({WRITTEN // BLOCK}):
        file.write(block)
        os.fsync(file.fileno())
"""


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> HardwareProfile:
    """Measure the CPUs and the disk of this host."""
    folder = tmp_path_factory.mktemp("measured")
    return HardwareAnalyzerV2(folder).analyze_full(benchmarks=["processor", "disk"])


def profiled(folder: Path, *command: str) -> dict[str, Any]:
    """Return the summary of a profiled command."""
    path = folder / "profile.json"
    subprocess.run([FLYBALL, "profile", "--output", str(path), "--", *command], check=True, timeout=300,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # fmt: skip
    summary: dict[str, Any] = json.loads(path.read_text())["summary"]
    return summary


def seconds_of(forecast: BottleneckForecast, resource: str) -> float:
    """Return the predicted seconds of a resource."""
    found = next(demand.seconds for demand in forecast.demands if demand.resource == resource)
    assert found is not None
    return found


def test_a_learner_in_memory_is_limited_by_the_cpu_as_predicted(tmp_path: Path, host: HardwareProfile) -> None:
    """The predicted CPU time is right within a factor of two, however busy the host is."""
    workers = max(1, int(host.processor.usable_cpus or 1))
    forecast = host.predict_bottleneck(
        SAMPLES_A_WORKER * workers, CHUNK, NODES, tokens_per_sample=TOKENS, workers=workers, pattern_store="memory"
    )
    program = tmp_path / "learner.py"
    program.write_text(LEARNER)
    each = " ".join([f"{sys.executable} {program} &"] * workers)
    summary = profiled(tmp_path, "sh", "-c", f"{each} wait")
    assert forecast.primary == "cpu"
    assert summary["primary_bottleneck"] == "cpu"
    assert 0.5 < summary["cpu_seconds"] / (seconds_of(forecast, "cpu") * workers) < 2.5


def test_a_writer_is_limited_by_the_disk_as_predicted(tmp_path: Path, host: HardwareProfile) -> None:
    """It waits for the disk, and the disk has the score of a bottleneck. A fast disk costs the kernel CPU time, too."""
    needs_a_disk(tmp_path)
    rates = HostRates.of(host.processor, host.memory, host.folder, host.benchmarks, host.unavailable)
    forecast = forecast_bottleneck(rates, HostWork(written_bytes=WRITTEN, cpu_patterns=1_000))
    program = tmp_path / "writer.py"
    program.write_text(WRITER)
    summary = profiled(tmp_path, sys.executable, str(program), str(tmp_path / "written"))
    assert forecast.primary == "disk"
    assert summary["disk_write_bytes"] == pytest.approx(WRITTEN, rel=0.1)
    assert summary["base_scores"]["disk"] > 0.1
    assert summary["cpu_seconds"] < 0.8 * summary["duration_seconds"]
    assert 0.1 < summary["duration_seconds"] / seconds_of(forecast, "disk") < 10
