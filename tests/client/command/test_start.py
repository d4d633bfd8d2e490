"""The imports of the command line: an unneeded library delays every command."""

import subprocess
import sys
from pathlib import Path

EXAMPLE = Path(__file__).parents[3] / "examples" / "transformer.yaml"
STARTED = """
import os, sys
from flyball.__main__ import main
status = main(sys.argv[1:])
print(status, len(os.listdir("/proc/self/task")), *sorted(sys.modules), file=sys.stderr)
"""


def started(*words: str) -> tuple[int, set[str]]:
    """Run a command in a process of its own; return its number of threads and the modules that it imported."""
    command = [sys.executable, "-c", STARTED, *words]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    status, threads, *names = done.stderr.split()
    assert status == "0"
    return int(threads), set(names)


def test_a_plan_in_a_pipe_imports_only_what_it_needs() -> None:
    """No package for terminals or for other commands."""
    _, names = started("plan", str(EXAMPLE))
    assert {"numpy", "msgspec", "typer", "yaml"} <= names
    assert not names & {"rich", "plotly", "libcst", "pydantic", "torch", "httpx", "grpc", "flyball_collector"}
    assert not names & {"tempfile", "random", "zipfile", "json"}  # importlib.resources would bring the first three
    assert "numpy.ma" not in names  # numpy.unique imports it unless indices are asked for


def test_a_plan_starts_no_threads() -> None:
    """BLAS would start one thread a core; they spin while they wait, and a plan has no large matrices."""
    threads, _ = started("plan", str(EXAMPLE))
    assert threads == 1
