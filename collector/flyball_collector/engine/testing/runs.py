"""For tests and simulations: runs whose ranks report once a second, through fleet, detectors and conditions."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from flyball_collector.diagnosis.event import Event
from flyball_collector.diagnosis.peers.catalogue import peer_detectors
from flyball_collector.diagnosis.runs.catalogue import run_detectors
from flyball_collector.diagnosis.runs.run_view import Runs
from flyball_collector.engine.player import EPOCH, About, Key, Player, Sample, recording
from flyball_collector.engine.settings import DiagnosisSettings
from flyball_proto.v1 import telemetry_pb2 as pb

Reports = Callable[[int, int], pb.StepReport | None]
"""What a rank reports in a second; nothing: no step ended."""

Readings = Callable[[int, int], Mapping[Key, float]]
"""What the host of a rank reads in a second."""


def step(rank: int, second: int, seconds: float, run: str = "r", **fields: object) -> pb.StepReport:
    """A report of one step."""
    told: dict[str, object] = {"run": run, "rank": rank, "step": second + 1, "steps": 1, "step_seconds": seconds}
    return pb.StepReport(**(told | fields))  # type: ignore[arg-type]  # free fields


def gpu_key(metric: str, gpu: str, **labels: str) -> Key:
    """A column of a GPU."""
    return metric, (("gpu", gpu), ("index", ""), *labels.items())


def idle(*_: int) -> Mapping[Key, float]:
    """A host that reads hardly anything."""
    return {("cpu_busy_ratio", ()): 0.5}


def play(
    ranks: int,
    seconds: Iterable[int],
    reports: Reports,
    *,
    readings: Readings = idle,
    tenancies: Mapping[str, pb.Tenancy] | None = None,
) -> tuple[list[Event], Player]:
    """A host a rank, its events, and what has played them."""
    samples = []
    for second in seconds:
        for rank in range(ranks):
            report = reports(rank, second)
            samples.append(Sample(second, host(rank), readings(rank, second), [report] if report is not None else []))
    recorded = recording(samples)
    digests = {name: number for number, name in enumerate(tenancies or {}, 1)}
    for tick in recorded.ticks:
        tick.tenancy = digests.get(tick.host, 0)
    about = About(tenancies={digests[name]: tenancy for name, tenancy in (tenancies or {}).items()})
    player = Player(replace(recorded, about=about))
    runs, settings = Runs(), DiagnosisSettings()
    player.diagnosis.detectors = [*peer_detectors(settings.peers, runs), *run_detectors(settings.runs, runs)]
    return [event for _, events in player.play() for event in events], player


def host(rank: int) -> str:
    """The name of a rank's host."""
    return f"h{rank:02}"


def brief(told: Sequence[Event], *kinds: str) -> list[tuple[int, str, str, int | None]]:
    """(second, kind, state, rank) of the events of these kinds."""
    return [
        (event.time_ns // 10**9 - EPOCH, event.kind.name, event.state.value, event.subject.rank)
        for event in told
        if event.kind.name in kinds
    ]
