"""What the command line loads: a library that is imported for nothing is time that every user waits."""

import subprocess
import sys
from pathlib import Path

EXAMPLE = Path(__file__).parents[3] / "examples" / "transformer.yaml"
LOADED = """
import sys
from flyball.command import run
status = run(sys.argv[1:])
print(status, *sorted({name.partition(".")[0] for name in sys.modules}), file=sys.stderr)
"""


def loaded(*words: str) -> set[str]:
    """The packages that a command imports, started as a program of its own."""
    command = [sys.executable, "-c", LOADED, *words]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    status, *names = done.stderr.split()
    assert status == "0"
    return set(names)


def test_a_plan_in_a_pipe_loads_what_it_computes_with_and_nothing_else() -> None:
    """Neither what draws terminals nor what only other commands need."""
    names = loaded("plan", str(EXAMPLE))
    assert {"numpy", "msgspec", "yaml", "typer"} <= names
    assert not names & {"rich", "plotly", "libcst", "pydantic", "torch", "httpx", "grpc", "flyball_collector"}
    assert not names & {"tempfile", "random", "zipfile"}  # which importlib.resources would bring
