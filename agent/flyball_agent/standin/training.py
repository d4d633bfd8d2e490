"""A simulated training that reports the steps of one rank per GPU; collectives make all steps equally long.

`python -m flyball_agent.standin.training SOCKET RUN RANKS SLOW GPUS` sends reports to the agent until it is killed. The
rank SLOW computes slowly, and the others wait for it. The process appears on the GPUs of the stand-in in folder GPUS.
"""

import json
import os
import random
import socket
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path

from flyball_agent.standin.library import hold_gpus
from flyball_agent.standin.scenarios import STRAGGLER_FACTOR

COMPUTE_SECONDS, COLLECTIVE_SECONDS = 0.15, 0.01
"""Parts of a step: computation, and the collective once the last rank has reached it."""

STEPS_PER_REPORT = 4
TOKENS_PER_STEP = 16_384
_NOISE = 0.01
_ANSWER_SECONDS = 5.0

Report = dict[str, object]


def reports(ranks: int, slow: int, noise: random.Random) -> Iterator[list[Report]]:
    """Yield the reports of all ranks, one list per reporting period."""
    step = 0
    while True:
        compute = [COMPUTE_SECONDS * noise.gauss(1, _NOISE) for _ in range(ranks)]
        compute[slow] /= STRAGGLER_FACTOR
        step_seconds = max(compute) + COLLECTIVE_SECONDS
        step += STEPS_PER_REPORT
        yield [_report(step, step_seconds, seconds) for seconds in compute]


def _report(step: int, step_seconds: float, compute_seconds: float) -> Report:
    sections = {"forward": compute_seconds, "all_reduce": step_seconds - compute_seconds}
    return {
        "kind": "steps",
        "step": step,
        "steps": STEPS_PER_REPORT,
        "step_seconds": STEPS_PER_REPORT * step_seconds,
        "tokens": STEPS_PER_REPORT * TOKENS_PER_STEP,
        "section_seconds": {name: STEPS_PER_REPORT * seconds for name, seconds in sections.items()},
    }


class _Rank:
    """A connection to the agent."""

    def __init__(self, path: str, hello: Report, stack: ExitStack) -> None:
        connection = stack.enter_context(socket.socket(socket.AF_UNIX))
        connection.settimeout(_ANSWER_SECONDS)
        connection.connect(path)
        self._connection = connection
        self._answers = stack.enter_context(connection.makefile("r", encoding="utf-8"))
        self.send(hello)

    def send(self, line: Report) -> None:
        """Send one line and read its answer. Raise `ConnectionError` if the agent has closed the connection."""
        self._connection.sendall(json.dumps(line).encode() + b"\n")
        if not self._answers.readline():
            raise ConnectionError("the agent has closed the connection")


def train(path: str, run: str, ranks: int, slow: int) -> None:
    """Report once a second until the agent closes the connection."""
    with ExitStack() as stack:
        connections = [
            _Rank(path, {"kind": "hello", "run": run, "rank": rank, "world_size": ranks}, stack)
            for rank in range(ranks)
        ]
        for all_reports in reports(ranks, slow, random.Random(run)):  # noqa: S311  noise of a demonstration
            for connection, report in zip(connections, all_reports, strict=True):
                connection.send(report)
            time.sleep(1 - time.time() % 1)


def main(arguments: Sequence[str]) -> None:
    """Report forever. If the agent is not running, wait for it."""
    path, run, ranks, slow, gpus = arguments
    hold_gpus(Path(gpus), os.getpid())
    while True:
        with suppress(OSError):
            train(path, run, int(ranks), int(slow))
        time.sleep(1)


if __name__ == "__main__":
    main(sys.argv[1:])
