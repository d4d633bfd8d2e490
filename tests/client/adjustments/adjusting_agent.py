"""An agent of one rank that offers what a test wants, and the messages of the rank that answer."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from flyball.training.agent_link import AgentLink
from flyball.training.identity import Identity
from flyball.training.introduction import Introduction
from flyball.training.reporter import Reporter
from flyball.training.run import Run
from tests.client.training.listening_socket import ListeningSocket

PATIENCE_SECONDS = 60.0
REPORT_NS = 0


def open_rank(
    path: Path,
    *,
    rank: int = 0,
    world_size: int = 1,
    policy: str = "auto",
    report_ns: int = REPORT_NS,
    attempt: int = 0,
) -> Run:
    """Return a run that reports at each step."""
    introduction = Introduction("adjusted", Identity(rank, world_size, attempt, "job"), labels={}, policy=policy)
    return Run(introduction, Reporter(AgentLink(lambda: [str(path)]), 0), report_ns=report_ns)


class AdjustingAgent:
    """Sends offers to one rank, and keeps what the rank sends."""

    def __init__(self, path: Path) -> None:
        self.socket = ListeningSocket(path)
        self.lines: list[dict[str, Any]] = []
        self._offers = 0

    def close(self) -> None:
        """Close the socket."""
        self.socket.close()

    def allow(self, enabled: bool = True) -> None:
        """Report that adjustments are allowed, or no longer are."""
        self.socket.send({"kind": "adjustments", "enabled": enabled})

    def offer(self, name: str, from_: object, to: object, at: int, **more: object) -> str:
        """Offer a change, and return its id."""
        self._offers += 1
        fields = {"id": f"{self._offers:016x}", "name": name, "from": from_, "to": to, "at": at, "attempt": 0}
        message = {"kind": "offer", **fields, "expires_seconds": 30, "safety": 4, "because": "a test", **more}
        self.socket.send(message)
        return str(message["id"])

    def commit(self, offer: str) -> None:
        """Report that all ranks are prepared."""
        self.socket.send({"kind": "commit", "id": offer})

    def withdraw(self, offer: str, reason: str = "") -> None:
        """Take an offer back."""
        self.socket.send({"kind": "withdraw", "id": offer, "reason": reason})

    def read(self) -> list[dict[str, Any]]:
        """Read what has arrived. Return everything that the rank has sent so far."""
        self.lines += self.socket.lines()
        return self.lines

    def of_kind(self, kind: str) -> list[dict[str, Any]]:
        """Return all messages of a kind so far."""
        return [line for line in self.read() if line["kind"] == kind]

    def answers(self, offer: str) -> list[dict[str, Any]]:
        """Return the answers to an offer so far."""
        return [line for line in self.read() if line.get("id") == offer]

    def values(self) -> dict[str, dict[str, Any]]:
        """Return the values that the rank announced last, by name."""
        return {value["name"]: value for value in self.of_kind("able")[-1]["values"]}


def wait_until(what: str, check: Callable[[], object]) -> None:
    """Wait until something is true, or fail with a message."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not check():
        if time.monotonic() > deadline:
            raise AssertionError(f"{what}: not within {PATIENCE_SECONDS:g} s")
        time.sleep(0.005)


def apply(agent: AdjustingAgent, run: Run, name: str, to: object) -> dict[str, Any]:
    """Take a change through all of the protocol, and return the last answer."""
    now = run.adjustments.values[name].now
    offer = agent.offer(name, now, to, at=run.last_step + 3)
    run.step()
    agent.commit(offer)
    for _ in range(3):
        run.step()
    return agent.answers(offer)[-1]
