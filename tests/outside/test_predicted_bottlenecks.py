"""Bottlenecks that the host's profile predicts, compared with what `flyball profile` then sees on the same host."""

import json
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from flyball import HardwareAnalyzerV2, HardwareProfile
from flyball.host.bottleneck_forecast import BottleneckForecast, HostRates, forecast_bottleneck
from flyball.host.learner_work import PATTERN_OVERHEAD, HostWork
from tests.client.profiling.disks import needs_a_disk
from tests.faults.limited_group import limited_group

FLYBALL = str(Path(sys.executable).parent / "flyball")
SAMPLES_A_WORKER, CHUNK, NODES, TOKENS = 3_000, 15, 4, 500

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


DELAY_SECONDS, CALLS = 0.03, 40
CALLER = f"""
import sys
from http.client import HTTPConnection
service = HTTPConnection(sys.argv[1])
for call in range({CALLS}):
    service.request("GET", "/")
    service.getresponse().read()
"""

LIMIT_BYTES, PATTERNS = 64 * 2**20, 700_000
GROWING = f"""
import sys
from hashlib import blake2b
with open(sys.argv[1] + "/cgroup.procs", "w") as group:
    group.write("0")
counts = {{}}
for number in range({PATTERNS}):
    counts[blake2b(b"%d" % number, digest_size=20).hexdigest()] = number
"""
"""It keeps as many names as a learner that never sees a pattern twice."""


class _SlowService(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        time.sleep(DELAY_SECONDS)
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Keep the output of the tests clean."""


@pytest.fixture
def service() -> Iterator[str]:
    """Run a service that answers after some time; yield its host and port."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _SlowService) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        yield f"127.0.0.1:{server.server_address[1]}"
        server.shutdown()


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> HardwareProfile:
    """Measure the CPUs and the disk of this host."""
    folder = tmp_path_factory.mktemp("measured")
    return HardwareAnalyzerV2(folder).analyze_full(benchmarks=["processor", "disk"])


def profiled(folder: Path, *command: str, options: Sequence[str] = (), status: int = 0) -> dict[str, Any]:
    """Return the summary of a profiled command, which must end with this status."""
    path = folder / "profile.json"
    done = subprocess.run([FLYBALL, "profile", *options, "--output", str(path), "--", *command], check=False,
                          timeout=300, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # fmt: skip
    assert done.returncode == status
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


def test_a_learner_that_calls_a_service_waits_for_it_as_predicted(tmp_path: Path, service: str) -> None:
    """Hardly any of its time is CPU time, and the latency that the profile sees is that of the prediction."""
    url = f"http://{service}/"
    host = HardwareAnalyzerV2(tmp_path, service_url=url).analyze_full(benchmarks=["network"])
    forecast = host.predict_bottleneck(CALLS, tokens_per_sample=15, pattern_store="memory", calls_per_sample=1)
    summary = profiled(tmp_path, sys.executable, "-c", CALLER, service, options=("--interval", "0.1", "--api", url))
    assert forecast.primary == "network"
    assert summary["cpu_seconds"] < 0.5 * summary["duration_seconds"]
    assert summary["base_scores"]["network"] >= 1e3 * DELAY_SECONDS / 100
    assert seconds_of(forecast, "network") > 0.9 * CALLS * DELAY_SECONDS
    assert 0.2 < summary["duration_seconds"] / seconds_of(forecast, "network") < 10


@pytest.mark.parametrize("patterns", [PATTERNS // 4, PATTERNS])
def test_a_learner_is_killed_by_its_memory_limit_if_and_only_if_this_is_predicted(
    tmp_path: Path, host: HardwareProfile, patterns: int
) -> None:
    """From the bytes of a pattern and what the limit of the container leaves."""
    memory = replace(host.memory, limit_bytes=LIMIT_BYTES, available_bytes=LIMIT_BYTES)
    rates = HostRates.of(host.processor, memory, host.folder, host.benchmarks, host.unavailable)
    forecast = forecast_bottleneck(rates, HostWork(cpu_patterns=patterns, resident_bytes=patterns * PATTERN_OVERHEAD))
    expected = "memory" if patterns == PATTERNS else "cpu"
    assert forecast.primary == expected
    with limited_group(LIMIT_BYTES) as group:
        program = GROWING.replace(str(PATTERNS), str(patterns))
        killed = 128 + signal.SIGKILL if expected == "memory" else 0
        profiled(tmp_path, sys.executable, "-c", program, str(group), status=killed)
