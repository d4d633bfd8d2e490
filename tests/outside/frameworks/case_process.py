"""Runs a script with trainings in a process of its own, and keeps what it printed and reported."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.outside.frameworks.recorder import Line, Recorder

_HERE = Path(__file__).parent


@dataclass(frozen=True)
class Reported:
    """The answers of the cases of a script, and what arrived at the socket."""

    seen: dict[str, Any]
    recorder: Recorder

    def connections(self, run: str) -> list[list[Line]]:
        """Return the lines of each connection that opened this run."""
        return [lines for lines in self.recorder.connections if lines and lines[0].get("run") == run]

    def lines(self, run: str) -> list[Line]:
        """Return the lines of a run's only connection."""
        (lines,) = self.connections(run)
        return lines


def run_cases(script: str, folder: Path, *arguments: str, **environment: str) -> Reported:
    """Run a script of this folder to its end."""
    with Recorder(folder / "agent.sock") as recorder:
        ended = subprocess.run(
            [sys.executable, str(_HERE / script), str(folder), *arguments],
            env={**os.environ, "FLYBALL_SOCKET": str(recorder.path), "OMP_NUM_THREADS": "1", **environment},
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
        assert ended.returncode == 0, ended.stderr[-3000:]
        recorder.wait_closed()
    assert recorder.rejected == []
    return Reported(json.loads(ended.stdout.splitlines()[-1]), recorder)
