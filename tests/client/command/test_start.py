"""What the command line loads: a library that is imported for nothing is time that every user waits."""

import subprocess
import sys
from pathlib import Path

EXAMPLE = Path(__file__).parents[3] / "examples" / "transformer.yaml"
STARTED = """
import os, sys
from flyball.__main__ import main
status = main(sys.argv[1:])
names = sorted({name.partition(".")[0] for name in sys.modules})
print(status, len(os.listdir("/proc/self/task")), *names, file=sys.stderr)
"""


def started(*words: str) -> tuple[int, set[str]]:
    """The threads that a command has in the end and the packages that it imports, as a program of its own."""
    command = [sys.executable, "-c", STARTED, *words]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    status, threads, *names = done.stderr.split()
    assert status == "0"
    return int(threads), set(names)


def test_a_plan_in_a_pipe_loads_what_it_computes_with_and_nothing_else() -> None:
    """Neither what draws terminals nor what only other commands need."""
    _, names = started("plan", str(EXAMPLE))
    assert {"numpy", "msgspec", "typer"} <= names
    assert not names & {"yaml", "rich", "plotly", "libcst", "pydantic", "torch", "httpx", "grpc", "flyball_collector"}
    assert not names & {"tempfile", "random", "zipfile", "json"}  # importlib.resources would bring the first three


def test_a_plan_starts_no_threads() -> None:
    """BLAS has one a core, which wait for products of matrices by spinning: a plan has none worth it."""
    threads, _ = started("plan", str(EXAMPLE))
    assert threads == 1
