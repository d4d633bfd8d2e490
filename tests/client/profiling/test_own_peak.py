"""Tests of the peak of this process."""

import subprocess
import sys
from pathlib import Path

from flyball.profiling.own_peak import own_peak_bytes

LARGE_PARENT = """
import subprocess, sys
held = bytearray(400_000_000)
code = "import resource; from flyball.profiling.own_peak import own_peak_bytes;"
code += "print(own_peak_bytes(), resource.getrusage(0).ru_maxrss * 1024)"
subprocess.run([sys.executable, "-c", code], check=True)
"""


def test_a_large_parent_does_not_count() -> None:
    """A program that a large one has started has its own peak, which `ru_maxrss` does not show."""
    done = subprocess.run([sys.executable, "-c", LARGE_PARENT], capture_output=True, text=True, check=True)
    own, counted_by_usage = map(int, done.stdout.split())
    assert own < 100_000_000
    assert counted_by_usage > 400_000_000


def test_without_procfs_the_usage_serves(tmp_path: Path) -> None:
    """Return the peak of the usage if the file is missing or has none."""
    (tmp_path / "status").write_text("Name:\tpython\n")
    assert own_peak_bytes(str(tmp_path / "status")) >= own_peak_bytes() > 0
    assert own_peak_bytes(str(tmp_path / "absent")) > 0
