"""The registry of runs: connected training processes, and their step reports since the last tick."""

import threading
from collections.abc import Mapping
from dataclasses import dataclass

from flyball_agent.runs.environment import clean
from flyball_agent.runs.messages import POLICIES, Hello, StepsMessage, labels_of
from flyball_agent.runs.step_reports import merge, step_report
from flyball_proto.v1 import telemetry_pb2 as pb

MAX_RUNS = 1024
MAX_REPORTS = 256
"""Limit per tick, so that a record stays small enough to be sent."""
OWNED_SECONDS = 600.0
"""A run belongs to its user for this long after its last process has left, so that a restart can join it."""


class RunRefused(Exception):
    """The process may not report for this run."""


class TooManyReports(Exception):
    """The next record is full."""


@dataclass(frozen=True, slots=True)
class SocketPeer:
    """A process at the other end of the socket, as the kernel reports it."""

    pid: int  # 0: in a PID namespace that the agent does not see
    uid: int
    connection: int = 0  # a process may have several


@dataclass(frozen=True, slots=True)
class ReportingProcess:
    """A process that reports for a run."""

    pid: int
    uid: int
    run: str
    rank: int
    world_size: int
    labels: Mapping[str, str]
    attempt: int = 0
    group: str = ""
    policy: str = ""
    version: str = ""  # of the client


@dataclass(slots=True)
class _Run:
    uid: int
    clients: int = 0
    left_seconds: float = 0.0


class RunRegistry:
    """Runs and step reports. The socket fills it in the event loop; the sampler empties it in its thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._runs: dict[str, _Run] = {}
        self._clients: dict[SocketPeer, ReportingProcess] = {}
        self._left: dict[SocketPeer, ReportingProcess] = {}  # since the last `take_clients`
        self._reports: dict[tuple[str, int, int], pb.StepReport] = {}

    def open(self, peer: SocketPeer, hello: Hello, now_seconds: float) -> None:
        """Add a process to a run. Raise RunRefused if the run belongs to another user."""
        with self._lock:
            run = self._runs.get(hello.run)
            if run is not None and not run.clients and now_seconds - run.left_seconds > OWNED_SECONDS:
                run = None
            if run is None:
                self._make_room(now_seconds)
                run = self._runs[hello.run] = _Run(peer.uid)
            if run.uid != peer.uid:
                raise RunRefused(f"run {hello.run!r} belongs to another user")
            run.clients += 1
            self._clients.pop(peer, None)  # the newest is the last
            self._clients[peer] = reporting_process(peer, hello)

    def report(self, peer: SocketPeer, hello: Hello, steps: StepsMessage) -> None:
        """Add a step report to the record of the next tick."""
        report = step_report(hello, steps, pid=peer.pid, uid=peer.uid)
        key = (hello.run, hello.rank, peer.pid)
        with self._lock:
            earlier = self._reports.get(key)
            if earlier is not None:
                merge(earlier, report)
            elif len(self._reports) < MAX_REPORTS:
                self._reports[key] = report
            else:
                raise TooManyReports(
                    f"more than {MAX_REPORTS} ranks reported since the last tick; this report is dropped"
                )

    def leave(self, peer: SocketPeer, hello: Hello, now_seconds: float) -> None:
        """Remove a process that is done or has died."""
        with self._lock:
            run = self._runs.get(hello.run)
            if run is not None:
                run.clients -= 1
                run.left_seconds = now_seconds
            client = self._clients.get(peer)
            if client is not None and client.run == hello.run:
                del self._clients[peer]
                if len(self._left) < MAX_REPORTS:
                    self._left[peer] = client

    def take_reports(self) -> list[pb.StepReport]:
        """Remove and return the reports since the last tick, one per rank and process."""
        if not self._reports:
            return []
        with self._lock:
            reports, self._reports = self._reports, {}
        return list(reports.values())

    def clients(self) -> dict[int, ReportingProcess]:
        """Return the processes that report for a run now, by process id.

        A process whose id is unknown has a negative number instead. One with several runs has the newest of them.
        """
        with self._lock:
            return _by_pid(self._clients)

    def take_clients(self) -> dict[int, ReportingProcess]:
        """Return the same with the processes that have left since the last call.

        Otherwise a run that is shorter than a tick would have steps, but neither a user nor labels.
        """
        with self._lock:
            left, self._left = self._left, {}
            return _by_pid(left | self._clients)

    def _make_room(self, now_seconds: float) -> None:
        if len(self._runs) < MAX_RUNS:
            return
        idle = [name for name, run in self._runs.items() if not run.clients]
        old = [name for name in idle if now_seconds - self._runs[name].left_seconds > OWNED_SECONDS]
        for name in old or idle[:1]:
            del self._runs[name]
        if len(self._runs) >= MAX_RUNS:
            raise RunRefused(f"{MAX_RUNS} runs are open on this host; end one of them first")


def _by_pid(clients: Mapping[SocketPeer, ReportingProcess]) -> dict[int, ReportingProcess]:
    return {peer.pid or -peer.connection: client for peer, client in clients.items()}


def reporting_process(peer: SocketPeer, hello: Hello) -> ReportingProcess:
    """Return the process of a hello. The process id and user id come from the kernel."""
    return ReportingProcess(
        peer.pid,
        peer.uid,
        hello.run,
        hello.rank,
        hello.world_size,
        labels_of(hello),
        attempt=hello.attempt or 0,
        group=clean((hello.group or "").encode()),
        policy=hello.policy if hello.policy in POLICIES else "",
        version=clean((hello.client or "").encode(), 60),
    )
