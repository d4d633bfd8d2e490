"""`flyball profile` around programs of others, compared with what they and GNU time report themselves."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.client.profiling.disks import needs_a_disk
from tests.outside.programs import needs

FLYBALL = str(Path(sys.executable).parent / "flyball")
GNU_TIME = "/usr/bin/time"


def profile(folder: Path, *command: str) -> tuple[dict[str, Any], str]:
    """Profile a command; return the summary and the standard error of the command."""
    path = folder / "profile.json"
    done = subprocess.run(
        [FLYBALL, "profile", "--output", str(path), "--", *command],
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=True, timeout=120,
    )  # fmt: skip
    return json.loads(path.read_text())["summary"], done.stderr


def timed(folder: Path, *command: str) -> tuple[dict[str, Any], float, float]:
    """Profile a command below GNU time; return the summary, and the CPU seconds and MB that GNU time reports."""
    needs(GNU_TIME)
    summary, errors = profile(folder, GNU_TIME, "-f", "GNU time: %U %S %M", *command)
    found = re.search(r"GNU time: (\S+) (\S+) (\d+)", errors)
    assert found is not None, errors
    return summary, float(found[1]) + float(found[2]), int(found[3]) * 1024 / 1e6


def test_written_bytes_of_dd_are_right_within_five_percent(tmp_path: Path) -> None:
    """64 MiB, flushed to the disk."""
    needs("dd")
    needs_a_disk(tmp_path)
    summary, errors = profile(tmp_path, "dd", "if=/dev/zero", f"of={tmp_path}/file", "bs=1M", "count=64", "conv=fsync")
    copied = re.search(r"(\d+) bytes", errors)
    assert copied is not None
    assert summary["disk_write_bytes"] == pytest.approx(int(copied[1]), rel=0.05)
    assert summary["disk_write_operations"] >= 64


def test_cpu_time_of_several_busy_processes_is_that_of_gnu_time(tmp_path: Path) -> None:
    """Within 10 %, however little of a core each of them gets."""
    work = "import time\nwhile time.process_time() < 0.4: pass"
    one = f"{sys.executable} -c '{work}'"
    summary, cpu_seconds, _ = timed(tmp_path, "sh", "-c", f"{one} & {one} & {one} & wait")
    assert cpu_seconds >= 1.2
    assert summary["cpu_seconds"] == pytest.approx(cpu_seconds, rel=0.1)
    expected = 100 * summary["cpu_seconds"] / summary["duration_seconds"]
    assert summary["cpu_avg_percent"] == pytest.approx(expected)


def test_peak_memory_is_that_of_gnu_time(tmp_path: Path) -> None:
    """Within 5 %, for 300 MB that are held for a moment between two samples."""
    program = "import time; time.sleep(0.4); held = bytearray(300_000_000)"
    summary, _, megabytes = timed(tmp_path, sys.executable, "-c", program)
    assert megabytes > 300
    assert summary["peak_memory_mb"] == pytest.approx(megabytes, rel=0.05)


def test_a_thousand_short_children_are_counted(tmp_path: Path) -> None:
    """Each lives for less than a sample takes."""
    summary, cpu_seconds, _ = timed(tmp_path, "sh", "-c", "i=0; while [ $i -lt 1000 ]; do /bin/true; i=$((i+1)); done")
    assert cpu_seconds > 0.1
    assert summary["cpu_seconds"] == pytest.approx(cpu_seconds, rel=0.1, abs=0.05)
