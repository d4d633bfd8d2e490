"""Simulated runs for tests and simulations: ranks report once a second and are diagnosed."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from flyball_collector.diagnosis.event import Event
from flyball_collector.diagnosis.peers.catalogue import peer_detectors
from flyball_collector.diagnosis.runs.catalogue import run_detectors
from flyball_collector.diagnosis.runs.run_view import Runs
from flyball_collector.engine.player import EPOCH, Key, Player, RecordedSample, RecordingContext, recording
from flyball_collector.engine.settings import DiagnosisSettings
from flyball_proto.v1 import telemetry_pb2 as pb

Reports = Callable[[int, int], pb.StepReport | None]
"""Returns the report of a rank in a second, or None if no step ended."""

Readings = Callable[[int, int], Mapping[Key, float]]
"""Returns the readings of a rank's host in a second."""


def step(rank: int, second: int, seconds: float, run: str = "r", **fields: object) -> pb.StepReport:
    """Build a report of one step."""
    report: dict[str, object] = {"run": run, "rank": rank, "step": second + 1, "steps": 1, "step_seconds": seconds}
    return pb.StepReport(**(report | fields))  # type: ignore[arg-type]  # free fields


def gpu_key(metric: str, gpu: str, **labels: str) -> Key:
    """Return the key of a GPU's column."""
    return metric, (("gpu", gpu), ("index", ""), *labels.items())


def idle(*_: int) -> Mapping[Key, float]:
    """Return the readings of a host that reports almost nothing."""
    return {("cpu_busy_ratio", ()): 0.5}


def play(
    ranks: int,
    seconds: Iterable[int],
    reports: Reports,
    *,
    readings: Readings = idle,
    tenancies: Mapping[str, pb.Tenancy] | None = None,
    changes: Mapping[int, str] | None = None,
) -> tuple[list[Event], Player]:
    """Play one host for each rank; return the events and the player. No detector may have failed.

    `changes` are the seconds in which an adjustment has changed a run.
    """
    samples = []
    for second in seconds:
        for rank in range(ranks):
            report = reports(rank, second)
            samples.append(
                RecordedSample(second, host(rank), readings(rank, second), [report] if report is not None else [])
            )
    recorded = recording(samples)
    digests = {name: number for number, name in enumerate(tenancies or {}, 1)}
    for tick in recorded.ticks:
        tick.tenancy = digests.get(tick.host, 0)
    about = RecordingContext(tenancies={digests[name]: tenancy for name, tenancy in (tenancies or {}).items()})
    player = Player(replace(recorded, about=about), events_only=True)
    runs, settings = Runs(), DiagnosisSettings()
    player.diagnosis.detectors = [*peer_detectors(settings.peers, runs), *run_detectors(settings.runs, runs)]
    found: list[Event] = []
    for ticks, events in player.play():
        found += events
        second = ticks[0].corrected_ns // 10**9 - EPOCH
        if changes is not None and second in changes:
            player.diagnosis.run_changed(changes[second])
    if player.diagnosis.failures:
        raise AssertionError(f"detectors failed: {player.diagnosis.failures}")
    return found, player


def host(rank: int) -> str:
    """Return the name of a rank's host."""
    return f"h{rank:02}"


def brief(events: Sequence[Event], *kinds: str) -> list[tuple[int, str, str, int | None]]:
    """Return (second, kind, state, rank) of the events of these kinds."""
    return [
        (event.time_ns // 10**9 - EPOCH, event.kind.name, event.state.value, event.subject.rank)
        for event in events
        if event.kind.name in kinds
    ]
