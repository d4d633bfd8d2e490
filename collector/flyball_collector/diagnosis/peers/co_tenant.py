"""Detects processes of other users on a GPU that a run holds."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from flyball_collector.diagnosis.claims import Claims
from flyball_collector.diagnosis.kinds import BY_NAME
from flyball_collector.diagnosis.peers.settings import PeerSettings
from flyball_collector.diagnosis.seen_metrics import ANY_GPU
from flyball_collector.diagnosis.subject import Subject
from flyball_collector.diagnosis.view import View
from flyball_collector.fleet.host import HostState
from flyball_proto.v1 import telemetry_pb2 as pb


class _Stranger(NamedTuple):
    """A process that shares a GPU with the run of another user."""

    host: int
    gpu: str
    pid: int
    user: str
    command: str
    run: str  # the run that holds the GPU


class CoTenantDetector:
    """Reports `co_tenant`. It reads process details only if two users share a GPU."""

    name = "co_tenant"
    kinds = (BY_NAME["co_tenant"],)
    needs: Sequence[str] = (ANY_GPU,)

    def __init__(self, settings: PeerSettings) -> None:
        self._settings = settings
        self._known: dict[str, tuple[pb.Tenancy, list[_Stranger]]] = {}

    def observe(self, view: View) -> Iterable[Claims]:
        if not len(view.gpus):
            return ()
        count = len(view.gpus)
        memory, busy = np.zeros(count), np.zeros(count)
        total = view.gpu("gpu_memory_total_bytes")
        found: dict[int, _Stranger] = {}
        measured = np.ones(count, dtype=bool)
        for stranger in self._strangers(view):
            place = view.gpus.places.get(Subject(view.states[stranger.host].name, stranger.gpu))
            used = _use(view.states[stranger.host], stranger)
            if place is None:
                continue
            if used is None:
                measured[place] = False
                continue
            memory[place] += used[0]
            busy[place] += used[1]
            found[place] = stranger
        share = memory / np.where(total > 0, total, np.nan)
        entry_memory, entry_busy = self._settings.tenant_memory_ratio, self._settings.tenant_busy_ratio
        return (
            Claims(
                kind=self.kinds[0],
                subjects=view.gpus,
                enters=(share >= entry_memory) | (busy >= entry_busy),
                stays=(share >= entry_memory / 2) | (busy >= entry_busy / 2),
                known=measured & view.alive[view.gpus.hosts],
                confidence=np.where(busy >= entry_busy, 0.95, 0.85),
                level=np.clip(np.fmax(share, busy), 0, 1),
                because=lambda place: _words(found.get(place), share[place], busy[place]),
                evidence={"memory_ratio": share, "busy_ratio": busy},
            ),
        )

    def _strangers(self, view: View) -> Iterable[_Stranger]:
        """Return the strangers on all hosts. A host is evaluated again only if its tenancy changed."""
        known: dict[str, tuple[pb.Tenancy, list[_Stranger]]] = {}
        found: list[_Stranger] = []
        for number, state in enumerate(view.states):
            if state.tenancy is None:
                continue
            before = self._known.get(state.name)
            entry = (
                before
                if before is not None and before[0] is state.tenancy
                else (state.tenancy, _find_strangers(state.tenancy))
            )
            known[state.name] = entry
            if entry[1]:
                found += [stranger._replace(host=number) for stranger in entry[1]]
        self._known = known
        return found


def _find_strangers(tenancy: pb.Tenancy) -> list[_Stranger]:
    """Return the processes on GPUs whose run belongs to another user."""
    holders: dict[str, pb.Member] = {}
    for member in tenancy.members:
        if member.run and member.user:
            for gpu in member.gpus:
                first = holders.get(gpu)
                if first is None or member.started_ns < first.started_ns:
                    holders[gpu] = member
    return [
        _Stranger(-1, gpu, member.pid, member.user, member.command, holders[gpu].run)
        for member in tenancy.members
        for gpu in member.gpus
        if gpu in holders and member.user and member.user != holders[gpu].user
    ]


def _use(state: HostState, stranger: _Stranger) -> tuple[float, float] | None:
    """Return the memory in bytes and the share of time that the process uses on the GPU."""
    for process in state.extras.gpu_processes if state.extras is not None else ():
        if process.pid == stranger.pid and process.gpu == stranger.gpu:
            busy = process.utilization_ratio if process.HasField("utilization_ratio") else 0.0
            return float(process.memory_used_bytes), busy
    return None


def _words(stranger: _Stranger | None, share: float, busy: float) -> str:
    if stranger is None:
        return "another user's process"
    return (
        f"process {stranger.pid} ({stranger.command[:60]}) of user {stranger.user} uses {100 * share:.0f} % of the "
        f"memory and {100 * busy:.0f} % of the time of a GPU held by run {stranger.run}"
    )
