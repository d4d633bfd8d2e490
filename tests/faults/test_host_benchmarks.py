"""Benchmarks of the host that are killed or interrupted leave nothing behind."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.client.host.benchmarks.wire_mongo import WireMongo

pytestmark = pytest.mark.faults

DISK = """
import sys
from flyball.host.benchmarks.disk_benchmark import DiskTimes, measure_disk
print("ready", flush=True)
measure_disk(sys.argv[1], most_bytes=64 * 2**20, times=DiskTimes(write=0.2, read=60, random_read=60, random_write=60))
"""
MONGO = """
import sys
from flyball.host.benchmarks.mongo_benchmark import measure_mongo
measure_mongo(sys.argv[1])
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_a_disk_benchmark_that_ends_early_leaves_no_file(tmp_path: Path, number: signal.Signals) -> None:
    """The file has no name, so that even `kill -9` frees its space."""
    child = subprocess.Popen(
        [sys.executable, "-c", DISK, str(tmp_path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert child.stdout is not None
    assert child.stdout.readline() == b"ready\n"
    deadline = time.monotonic() + 30
    while not _holds_a_file(child.pid, tmp_path) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert _holds_a_file(child.pid, tmp_path)
    assert list(tmp_path.iterdir()) == []
    child.send_signal(number)
    child.communicate(timeout=30)
    assert child.returncode != 0
    assert list(tmp_path.iterdir()) == []


def _holds_a_file(pid: int, folder: Path) -> bool:
    """Return True if a process has a deleted file of this folder open."""
    descriptors = Path(f"/proc/{pid}/fd")
    try:
        links = [str(each.readlink()) for each in descriptors.iterdir()]
    except OSError:
        return False
    return any(link.startswith(str(folder)) and link.endswith("(deleted)") for link in links)


def test_an_interrupted_benchmark_of_mongodb_drops_its_database() -> None:
    """Ctrl-C comes while documents are inserted one by one."""
    with WireMongo(single_insert_seconds=0.2) as server:
        child = subprocess.Popen(
            [sys.executable, "-c", MONGO, server.url], stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        assert server.inserted.wait(30)
        child.send_signal(signal.SIGINT)
        child.communicate(timeout=30)
        assert child.returncode != 0
        assert server.dropped.wait(10)
        assert server.databases == {}
