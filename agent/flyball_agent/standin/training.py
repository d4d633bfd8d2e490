"""A training that is not there: it reports the steps of one rank for each GPU, equally long as collectives make them.

`python -m flyball_agent.standin.training SOCKET RUN RANKS SLOW GPUS` speaks to the agent until it is ended; the rank
SLOW computes slowly, and the others wait for it. It holds the GPUs that a stand-in plays in the folder GPUS.
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

OWN_SECONDS, COLLECTIVE_SECONDS = 0.15, 0.01
"""Of a step: what a rank computes, and what a collective takes once the last one has come."""

STEPS_A_REPORT = 4
TOKENS_A_STEP = 16_384
_NOISE = 0.01
_ANSWER_SECONDS = 5.0

Report = dict[str, object]


def reports(ranks: int, slow: int, noise: random.Random) -> Iterator[list[Report]]:
    """What every rank reports, time after time."""
    step = 0
    while True:
        own = [OWN_SECONDS * noise.gauss(1, _NOISE) for _ in range(ranks)]
        own[slow] /= STRAGGLER_FACTOR
        step_seconds = max(own) + COLLECTIVE_SECONDS
        step += STEPS_A_REPORT
        yield [_report(step, step_seconds, seconds) for seconds in own]


def _report(step: int, step_seconds: float, own_seconds: float) -> Report:
    sections = {"forward": own_seconds, "all_reduce": step_seconds - own_seconds}
    return {
        "kind": "steps",
        "step": step,
        "steps": STEPS_A_REPORT,
        "step_seconds": STEPS_A_REPORT * step_seconds,
        "tokens": STEPS_A_REPORT * TOKENS_A_STEP,
        "section_seconds": {name: STEPS_A_REPORT * seconds for name, seconds in sections.items()},
    }


class _Rank:
    """A connection to the agent."""

    def __init__(self, path: str, hello: Report, stack: ExitStack) -> None:
        connection = stack.enter_context(socket.socket(socket.AF_UNIX))
        connection.settimeout(_ANSWER_SECONDS)
        connection.connect(path)
        self._connection = connection
        self._answers = stack.enter_context(connection.makefile("r", encoding="utf-8"))
        self.say(hello)

    def say(self, line: Report) -> None:
        """One line, and its answer; `ConnectionError` when the agent has gone."""
        self._connection.sendall(json.dumps(line).encode() + b"\n")
        if not self._answers.readline():
            raise ConnectionError("the agent has closed the connection")


def train(path: str, run: str, ranks: int, slow: int) -> None:
    """Report once a second, until the agent goes."""
    with ExitStack() as stack:
        told = [
            _Rank(path, {"kind": "hello", "run": run, "rank": rank, "world_size": ranks}, stack)
            for rank in range(ranks)
        ]
        for together in reports(ranks, slow, random.Random(run)):  # noqa: S311  noise of a demonstration
            for rank, report in zip(told, together, strict=True):
                rank.say(report)
            time.sleep(1 - time.time() % 1)


def main(arguments: Sequence[str]) -> None:
    """Never returns: an agent that is not there yet, or goes, is waited for."""
    path, run, ranks, slow, gpus = arguments
    hold_gpus(Path(gpus), os.getpid())
    while True:
        with suppress(OSError):
            train(path, run, int(ranks), int(slow))
        time.sleep(1)


if __name__ == "__main__":
    main(sys.argv[1:])
