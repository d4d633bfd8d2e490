"""Training processes of the demonstrations: their start, their end, and what they print."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

ROOT = Path(__file__).parents[2]


class Training:
    """One rank, as a process. The lines of JSON that it prints are collected."""

    def __init__(self, module: str, arguments: Sequence[str], agent_socket: Path, environment: dict[str, str]) -> None:
        command = [sys.executable, "-m", module, *arguments]
        variables = {**os.environ, "OMP_NUM_THREADS": "1", "FLYBALL_SOCKET": str(agent_socket), **environment}
        self.lines: list[dict[str, Any]] = []
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=variables, cwd=ROOT)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def ask_to_end(self) -> None:
        """Ask it to end, unless it has ended."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)

    def end(self, seconds: float = 60.0) -> int:
        """Ask it to end, and return its exit status."""
        self.ask_to_end()
        return self.result(seconds)

    def result(self, seconds: float = 60.0) -> int:
        """Wait for its end and return its exit status."""
        status = self.process.wait(seconds)
        self._reader.join(seconds)
        return status

    def _read(self) -> None:
        assert self.process.stdout is not None  # noqa: S101  it was started with a pipe
        for line in self.process.stdout:
            if line.startswith("{"):
                self.lines.append(json.loads(line))


@contextlib.contextmanager
def training(
    module: str, *arguments: str, agent_socket: Path, environment: dict[str, str] | None = None
) -> Iterator[Training]:
    """Run a training until the block ends."""
    started = Training(module, arguments, agent_socket, environment or {})
    try:
        yield started
    finally:
        started.process.kill()
        started.process.wait()


class Ending:
    """Becomes true when the process is asked to end."""

    def __init__(self) -> None:
        self._asked = False
        signal.signal(signal.SIGTERM, self._ask)

    def __bool__(self) -> bool:
        return self._asked

    def _ask(self, _number: int, _frame: FrameType | None) -> None:
        self._asked = True


def emit(**values: object) -> None:
    """Print values for the demonstration."""
    print(json.dumps(values), flush=True)
