"""A view made of plain arrays, for tests and simulations without agents."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from flyball_collector.diagnosis.subject import Subject, Subjects, subjects
from flyball_collector.diagnosis.view import View
from flyball_collector.fleet.host import HostState
from flyball_collector.fleet.ranks import Ranks
from flyball_proto.v1 import telemetry_pb2 as pb

Floats = NDArray[np.float64]

_NO_RANKS = Ranks()


class Machines:
    """Hosts with the same number of GPUs and the same mounts. Their orders stay the same objects."""

    def __init__(self, hosts: int, gpus: int = 0, mounts: Sequence[str] = (), *, first: int = 0) -> None:
        names = [f"host-{number:05}" for number in range(first, first + hosts)]
        places = np.arange(hosts)
        self.states = tuple(HostState(name) for name in names)
        self.hosts = subjects([Subject(name) for name in names], places)
        self.gpus = subjects(
            [Subject(name, f"{name}-{gpu}") for name in names for gpu in range(gpus)], places.repeat(gpus)
        )
        self.mounts = subjects(
            [Subject(name, resource=mount) for name in names for mount in mounts], places.repeat(len(mounts))
        )
        self.labels = tuple({"mount": subject.resource} for subject in self.mounts.names)


class ArrayView(View):
    """One second of these machines. Unless given, means over a horizon equal the newest value."""

    def __init__(
        self,
        machines: Machines,
        now: float,
        *,
        host: Mapping[str, Floats] | None = None,
        gpu: Mapping[str, Floats] | None = None,
        mount: Mapping[str, Floats] | None = None,
        alive: NDArray[np.bool_] | None = None,
    ) -> None:
        self.now = now
        self.now_ns = round(now * 1e9)
        self._machines = machines
        self._host, self._gpu, self._mount = host or {}, gpu or {}, mount or {}
        self.alive = np.ones(len(machines.hosts), dtype=bool) if alive is None else alive

    @property
    def ranks(self) -> Ranks:
        return _NO_RANKS

    def run_of(self, member: pb.Member) -> str:
        return member.run

    @property
    def states(self) -> tuple[HostState, ...]:
        return self._machines.states

    @property
    def hosts(self) -> Subjects:
        return self._machines.hosts

    @property
    def gpus(self) -> Subjects:
        return self._machines.gpus

    def host(self, metric: str, horizon: int | None = None, **where: str) -> Floats:  # noqa: ARG002
        return self._host.get("/".join((metric, *where.values())), np.full(len(self.hosts), np.nan))

    def gpu(self, metric: str, horizon: int | None = None, **where: str) -> Floats:  # noqa: ARG002
        return self._gpu.get("/".join((metric, *where.values())), np.full(len(self.gpus), np.nan))

    def gpu_count(self, metric: str, **where: str) -> Floats:
        return self.gpu(metric, None, **where)

    def resources(self, metric: str) -> Subjects:  # noqa: ARG002
        return self._machines.mounts

    def labels(self, metric: str) -> tuple[Mapping[str, str], ...]:  # noqa: ARG002
        return self._machines.labels

    def resource(self, metric: str, horizon: int | None = None) -> Floats:  # noqa: ARG002
        return self._mount.get(metric, np.full(len(self._machines.mounts), np.nan))
