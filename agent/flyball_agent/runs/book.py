"""The book of runs: who speaks for which run here, and what was reported since the last tick."""

import threading
from collections.abc import Mapping
from dataclasses import dataclass

from flyball_agent.runs.messages import Hello, Steps, merge, step_report
from flyball_proto.v1 import telemetry_pb2 as pb

MAX_RUNS = 1024
MAX_REPORTS = 256
"""A tick's record must stay small enough to be sent, whoever reports."""
OWNED_SECONDS = 600.0
"""A run stays its user's for this long after the last process left: a restart finds it still theirs."""


class RunRefused(Exception):
    """The process may not speak for this run."""


class TooManyReports(Exception):
    """The next record is full."""


@dataclass(frozen=True, slots=True)
class Peer:
    """A process on the socket, by the kernel's word."""

    pid: int
    uid: int


@dataclass(frozen=True, slots=True)
class Client:
    """A process that speaks for a run."""

    pid: int
    uid: int
    run: str
    rank: int
    world_size: int
    labels: Mapping[str, str]


@dataclass(slots=True)
class _Run:
    uid: int
    speakers: int = 0
    left_seconds: float = 0.0


class RunBook:
    """Filled by the socket in the event loop, emptied by the sampler in its thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._runs: dict[str, _Run] = {}
        self._clients: dict[int, Client] = {}
        self._reports: dict[tuple[str, int, int], pb.StepReport] = {}

    def open(self, peer: Peer, hello: Hello, now_seconds: float) -> None:
        """A process joins a run; RunRefused when the run is another user's."""
        with self._lock:
            run = self._runs.get(hello.run)
            if run is not None and not run.speakers and now_seconds - run.left_seconds > OWNED_SECONDS:
                run = None
            if run is None:
                self._make_room(now_seconds)
                run = self._runs[hello.run] = _Run(peer.uid)
            if run.uid != peer.uid:
                raise RunRefused(f"run {hello.run!r} belongs to another user")
            run.speakers += 1
            self._clients[peer.pid] = Client(
                peer.pid, peer.uid, hello.run, hello.rank, hello.world_size, dict(hello.labels)
            )

    def report(self, peer: Peer, hello: Hello, steps: Steps) -> None:
        """Steps, for the record of the next tick."""
        report = step_report(hello, steps, pid=peer.pid, uid=peer.uid)
        key = (hello.run, hello.rank, peer.pid)
        with self._lock:
            earlier = self._reports.get(key)
            if earlier is not None:
                merge(earlier, report)
            elif len(self._reports) < MAX_REPORTS:
                self._reports[key] = report
            else:
                raise TooManyReports(f"more than {MAX_REPORTS} ranks reported since the last tick; this one is dropped")

    def leave(self, peer: Peer, hello: Hello, now_seconds: float) -> None:
        """A process is done, or died."""
        with self._lock:
            run = self._runs.get(hello.run)
            if run is not None:
                run.speakers -= 1
                run.left_seconds = now_seconds
            client = self._clients.get(peer.pid)
            if client is not None and client.run == hello.run:
                del self._clients[peer.pid]

    def take_reports(self) -> list[pb.StepReport]:
        """What was reported since the last tick, one report a rank and process."""
        if not self._reports:
            return []
        with self._lock:
            reports, self._reports = self._reports, {}
        return list(reports.values())

    def clients(self) -> dict[int, Client]:
        """Processes that speak for a run now, by pid."""
        with self._lock:
            return dict(self._clients)

    def _make_room(self, now_seconds: float) -> None:
        if len(self._runs) < MAX_RUNS:
            return
        idle = [name for name, run in self._runs.items() if not run.speakers]
        old = [name for name in idle if now_seconds - self._runs[name].left_seconds > OWNED_SECONDS]
        for name in old or idle[:1]:
            del self._runs[name]
        if len(self._runs) >= MAX_RUNS:
            raise RunRefused(f"{MAX_RUNS} runs are open on this host; close some")
