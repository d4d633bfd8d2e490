"""A training that reports steps, for tests."""

from typing import Any

from flyball_collector.exporter.diagnosis.snapshot import DiagnosisSnapshot, RunFigure
from flyball_collector.http.diagnosis_testing import FindingsDouble
from flyball_collector.http.testing import MachineDouble, WallClock, make_parts
from flyball_proto.v1 import telemetry_pb2 as pb

SECOND = 10**9


class TrainingDouble:
    """A run on two hosts with two ranks each, of which the last is slow."""

    def __init__(self, name: str = "r", *, seconds: int = 11) -> None:
        self.name = name
        self.clock = WallClock()
        self.parts = make_parts(clock=self.clock)
        for number, host in enumerate(("a", "b")):
            state = self.parts.fleet.ensure(host)
            self.parts.fleet.apply(MachineDouble(host, 2, seed=number).tick(0, self.clock()))
            labels = {"total_steps": "400", "team": "nlp"}
            members = [
                pb.Member(run=name, rank=2 * number + rank, world_size=4, user="ada", source="client", labels=labels,
                          gpus=[f"GPU-{number:04x}-{rank:02d}"], pid=100 + rank, started_ns=self.clock() - 60 * SECOND)
                for rank in range(2)
            ]  # fmt: skip
            state.tenancy = pb.Tenancy(members=members)
        for second in range(seconds):
            self.second(second)

    def second(self, second: int, **fields: Any) -> None:
        """Report four steps of each rank, and advance by a second."""
        self.clock.now_ns += SECOND
        for number, host in enumerate(("a", "b")):
            ranks = (2 * number, 2 * number + 1)
            reports = [self.report(rank, 4 * (second + 1), **fields) for rank in ranks]
            self.parts.fleet.ranks.add_reports(host, reports, self.clock(), self.clock())
            self.parts.fleet.ensure(host).received_ns = self.clock()
        self.parts.fleet.advance(self.clock())

    def report(self, rank: int, step: int, **fields: Any) -> pb.StepReport:
        """Return a report of four steps."""
        values: dict[str, Any] = {
            "step": step, "steps": 4, "step_seconds": 1.2 if rank == 3 else 0.8, "data_wait_seconds": 0.2,
            "tokens": 400.0, "samples": 8.0, "loss": 2.5 + rank, "allocated_peak_bytes": 1000 + rank, "attempt": 1,
            "reserved_peak_bytes": 2000, "section_seconds": {"forward": 0.2, "backward": 0.4},
            "calls": [pb.CallReport(service="kato", count=16, seconds=0.08, errors=1)],
            "levels": [pb.LevelReport(level="node0", items=40, seconds=0.1)],
        } | fields  # fmt: skip
        return pb.StepReport(run=self.name, rank=rank, world_size=4, pid=100 + rank % 2, **values)


class RunFindingsDouble(FindingsDouble):
    """The remaining time and step times of the run."""

    def __init__(self, name: str) -> None:
        self._name = name

    def of_runs(self) -> DiagnosisSnapshot:
        return DiagnosisSnapshot(runs=[RunFigure(self._name, 4, 0.2, 0.3, 89.0, 80.0, 99.0)])
