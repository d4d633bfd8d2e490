"""A fleet with results of the diagnosis, for tests."""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from flyball_collector.advice.advice import Advice, Effort, Gain, Safety
from flyball_collector.diagnosis.claims import Claims
from flyball_collector.diagnosis.event import Event
from flyball_collector.diagnosis.subject import Subject, subjects
from flyball_collector.exporter.diagnosis.snapshot import DiagnosisSnapshot, RunFigure, Scores
from flyball_collector.http.collector_parts import CollectorParts
from flyball_collector.http.testing import MachineDouble, WallClock, make_parts
from flyball_collector.timeline.testing import NOW_NS, SECOND_NS, make_event
from flyball_proto.v1 import telemetry_pb2 as pb

DISK = make_event("bottleneck_disk", subject=Subject("a"), confidence=0.7)
GPU = "GPU-3f2a9c1e-52d0-4b7e-9c55-0d6b8f4a7e21"
MEMORY = make_event(at=1, subject=Subject("a", GPU), gpu_index=3, seconds_left=600.0)
FULL = make_event("disk_full", at=2, subject=Subject("a", resource="/data"), seconds_left=90.0)
SLOW = make_event("straggler", at=3, subject=Subject("b", run="r", rank=1))


class FindingsDouble:
    """Findings for three hosts, in the form of the diagnosis."""

    def of_host(self, name: str) -> DiagnosisSnapshot:
        level = {"a": 0.8, "b": 0.4}.get(name, float("nan"))
        values = np.array([level])
        scores = Scores(
            [name], [("cpu", values / 2), ("memory", np.array([np.nan]))], [("disk", values), ("cpu", values / 4)]
        )
        return DiagnosisSnapshot(scores=scores, primary=[(name, "disk")] if level > 0.5 else [])

    def of_fleet(self) -> DiagnosisSnapshot:
        return self.of_runs()

    def of_runs(self) -> DiagnosisSnapshot:
        return DiagnosisSnapshot(runs=[RunFigure("r", 2, 0.5, 0.7, 3600.0, 3000.0, 4000.0)])


def some_advice() -> Sequence[Advice]:
    about = {"confidence": 0.8, "effort": Effort.SETTING, "source": "a paper"}
    return (
        Advice(
            rule="storage",
            subject=Subject("a", GPU),
            gpu_index=3,
            because="reads wait",
            change="cache",
            gain=Gain(1.2, 1.5),
            safety=Safety.ADVISE,
            **about,  # type: ignore[arg-type]  # the declared types
        ),
        Advice(rule="batch", subject=Subject(run="r"), because="x", change="y", safety=Safety.CONSENT, **about),  # type: ignore[arg-type]
    )


def diagnosed() -> CollectorParts:
    """Return the parts of a fleet with findings and advice: two hosts train together, a third does not."""
    parts = make_parts(clock=WallClock(NOW_NS + 60 * SECOND_NS))
    for rank, name in enumerate(("a", "b", "c")):
        tick = MachineDouble(name, 1).tick(0, parts.clock())
        if name != "c":
            steps = [pb.StepReport(run="r", rank=rank, world_size=2, step=70, steps=2, step_seconds=1.0)]
            tick.extras = pb.Record(steps=steps).SerializeToString()
        parts.fleet.apply(tick)
    parts.fleet.ranks.settle()
    events = [DISK, MEMORY, FULL, SLOW]
    parts.timeline.add_events(events)
    parts.diagnosis.conditions.load(events, parts.clock())
    claim_again(parts, MEMORY, left=(300.0, 200.0, 500.0))
    return replace(parts, findings=FindingsDouble(), advice=some_advice)


def claim_again(
    parts: CollectorParts,
    event: Event,
    *,
    left: tuple[float, float, float] = (math.nan, math.nan, math.nan),
    because: str = "used 95 %",
    present: bool = True,
    confidence: float = 0.9,
) -> None:
    """Let a detector claim what it finds now about an active condition: with `present` false, that it is over."""
    median, low, high = (np.array([seconds]) for seconds in left)
    claims = Claims(
        kind=event.kind,
        subjects=subjects([event.subject]),
        enters=np.array([present]),
        stays=np.array([present]),
        confidence=np.array([confidence]),
        seconds_left=median,
        seconds_left_low=low,
        seconds_left_high=high,
        because=lambda _: because,
        evidence={"used_ratio": np.array([0.95])},
    )
    parts.diagnosis.conditions.apply([claims], parts.clock())
