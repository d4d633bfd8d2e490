"""A job of real ranks with gloo, and an agent for each of them that a test plays."""

import json
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

from tests.client.adjustments.adjusting_agent import PATIENCE_SECONDS, AdjustingAgent, wait_until
from tests.processes import Process

AHEAD = 150
"""Steps until a change: at 2 ms and more for each, several reports of each rank."""


class GlooJob:
    """Processes, agents, and what the ranks have written."""

    def __init__(self, folder: Path, ranks: int) -> None:
        self.folder = folder
        self.agents = [AdjustingAgent(folder / f"{rank}.sock") for rank in range(ranks)]
        self.processes = [
            Process(
                [sys.executable, "-m", "tests.outside.adjustments.training_rank", str(folder), str(rank), str(ranks)],
                folder / f"output-{rank}",
            )
            for rank in range(ranks)
        ]
        self.statuses: list[int] = []  # at the end
        self._offers = 0

    def __enter__(self) -> Self:
        for process in self.processes:
            process.start()
        for rank in range(len(self.agents)):
            self.accept(rank)
        wait_until("each rank announces its value", lambda: all("size" in self._values(rank) for rank in self.ranks))
        return self

    def __exit__(self, *_: object) -> None:
        (self.folder / "end").touch()
        try:
            self.statuses = [process.child.wait(PATIENCE_SECONDS) for process in self.processes]
        finally:
            for process in self.processes:
                process.__exit__()
            for agent in self.agents:
                agent.close()

    @property
    def ranks(self) -> range:
        """Return the numbers of the ranks."""
        return range(len(self.agents))

    @property
    def size(self) -> Any:
        """Return the value that the first rank has now."""
        changes = [line.split() for line in self.log(0) if " size " in line]
        return int(changes[-1][2]) if changes else 1

    def accept(self, rank: int) -> None:
        """Accept the connection of a rank, or fail with the last lines of its output."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while self.processes[rank].alive() and time.monotonic() < deadline:
            with suppress(TimeoutError):
                self.agents[rank].socket.accept()
                return
        raise AssertionError(f"rank {rank} does not connect: {self.processes[rank].tail()}")

    def offer(self, name: str, from_: object, to: object, ahead: int = AHEAD) -> str:
        """Offer a change to all ranks, and return its id."""
        self._offers += 1
        at = max(self.step(rank) for rank in self.ranks) + ahead
        for agent in self.agents:
            agent.offer(name, from_, to, at, id=f"{self._offers:016x}")
        return f"{self._offers:016x}"

    def wait_for(self, offer: str, *kinds: str, ranks: range | tuple[int, ...] | None = None) -> list[dict[str, Any]]:
        """Wait until the last answer of each rank has one of these kinds, and return these answers."""
        chosen = self.ranks if ranks is None else ranks

        def last() -> list[dict[str, Any]]:
            return [answers[-1] for rank in chosen if (answers := self.agents[rank].answers(offer))]

        wait_until(
            f"{offer} is {' or '.join(kinds)}",
            lambda: len(found := last()) == len(chosen) and all(answer["kind"] in kinds for answer in found),
        )
        return last()

    def step(self, rank: int) -> int:
        """Return the last step that a rank has reported."""
        reports = self.agents[rank].of_kind("steps")
        return int(reports[-1]["step"]) if reports else 0

    def log(self, rank: int) -> list[str]:
        """Return what a rank has written."""
        return (self.folder / f"log-{rank}").read_text().splitlines()

    def sizes(self, rank: int) -> dict[int, int]:
        """Return the value of a rank after each step that it has finished. Call it after its end."""
        lines = [line.split() for line in self.log(rank)]
        changes = {int(step): int(size) for step, name, size in lines if name == "size"}
        sizes, size = {}, 1
        for step in range(1, int(lines[-1][0]) + 1):
            size = sizes[step] = changes.get(step, size)
        return sizes

    def facts(self, rank: int) -> dict[str, Any]:
        """Return what a rank has found out before its first step."""
        found: dict[str, Any] = json.loads((self.folder / f"facts-{rank}.json").read_text())
        return found

    def _values(self, rank: int) -> dict[str, Any]:
        return self.agents[rank].values() if self.agents[rank].of_kind("able") else {}
