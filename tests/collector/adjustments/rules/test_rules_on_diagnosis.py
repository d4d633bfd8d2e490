"""From readings of a host to proposals: the detectors of the diagnosis, the facts about the run, and the rules."""

from collections.abc import Callable
from dataclasses import replace

from flyball_collector.adjustments.adjustment import Adjustment, AdjustmentState
from flyball_collector.adjustments.declared.ranks import RankValue
from flyball_collector.adjustments.proposal import Proposal
from flyball_collector.adjustments.rules.proposer import Proposer
from flyball_collector.adjustments.situation.run_facts import RunFacts
from flyball_collector.diagnosis.forecast.memory import MemoryExhaustion
from flyball_collector.diagnosis.forecast.settings import ForecastSettings
from flyball_collector.diagnosis.forecast.thermal_slowdown import ThermalSlowdown
from flyball_collector.diagnosis.runs.run_view import Runs
from flyball_collector.engine.testing.hosts import SimulatedFleet
from flyball_proto.v1 import telemetry_pb2 as pb
from tests.collector.adjustments.rules.runs import GIB, SECOND, ranks, value

GPU = "GPU-0"
LIMIT = 92.0


class GovernedHost:
    """One GPU of one run. What the rules propose is applied ten seconds later."""

    def __init__(self, fleet: SimulatedFleet, values: dict[str, RankValue]) -> None:
        self.fleet, self.values = fleet, values
        self.made: list[tuple[float, Proposal]] = []
        self._facts, self._proposer = RunFacts(fleet.diagnosis.advisor), Proposer()
        self._history: list[Adjustment] = []
        fleet.host().tenancy = pb.Tenancy(members=[pb.Member(pid=7, run="r", source="client", gpus=[GPU])])

    def number(self, name: str) -> float:
        """Return a value that is a number."""
        return float(self.values[name].value)

    def play(self, seconds: int, read: Callable[[], dict[str, float]], peak_bytes: Callable[[], float]) -> None:
        """Let seconds pass. The GPU's readings and the allocator's peak follow from the present values."""
        waiting: tuple[float, Proposal] | None = None
        for second in range(seconds):
            for name, reading in read().items():
                self.fleet.set(name, reading, gpu=GPU)
            self.fleet.report(
                pb.StepReport(
                    run="r", rank=0, world_size=1, pid=7, step=2 * second + 2, steps=2, step_seconds=1.0,
                    allocated_peak_bytes=int(peak_bytes()), reserved_peak_bytes=int(peak_bytes()),
                )
            )  # fmt: skip
            self.fleet.step()
            if waiting is not None and second >= waiting[0]:
                self._apply(waiting[1])
                waiting = None
            if waiting is None and second % 5 == 0 and (found := self._propose()) is not None:
                self.made.append((second, found))
                waiting = (second + 10, found)

    def _propose(self) -> Proposal | None:
        situation = self._facts.situation(self.fleet.view, self.fleet.diagnosis.conditions, "r")
        run = ranks(list(self.values.values()))
        return None if situation is None else self._proposer.propose(situation, run, self._history)

    def _apply(self, one: Proposal) -> None:
        self.values[one.name] = replace(self.values[one.name], value=one.to)
        self._history.append(
            Adjustment(
                id=f"{len(self._history):016x}", run="r", attempt=0, name=one.name, lever=one.lever,
                value_from=one.value_from, value_to=one.to, safety=one.safety, rule=one.rule, protects=one.protects,
                state=AdjustmentState.KEPT, changed_ns=int(self.fleet.now * SECOND),
            )
        )  # fmt: skip


def test_a_gpu_that_heats_up_is_throttled_before_its_clocks_fall() -> None:
    """A GPU whose final temperature is 10 °C above its limit settles below it, after a few changes."""
    host = GovernedHost(SimulatedFleet(ThermalSlowdown(ForecastSettings())), {"throttle": value("throttle")})
    celsius = [60.0]

    def read() -> dict[str, float]:
        final = 42.0 + 60.0 * (0.2 + 0.8 * (1.0 - host.number("throttle")))
        celsius[0] += (final - celsius[0]) / 120.0
        hottest.append(celsius[0])
        return {
            "gpu_temperature_celsius": round(celsius[0]), "gpu_temperature_margin_celsius": LIMIT - round(celsius[0]),
            "gpu_utilization_ratio": 1.0 - host.number("throttle"),
        }  # fmt: skip

    hottest: list[float] = []
    host.play(500, read, lambda: 10 * GIB)
    assert max(hottest) < LIMIT
    assert 0.2 <= host.number("throttle") <= 0.5
    assert 1 <= len(host.made) <= 4
    assert host.made[0][1].rule == "throttle_heat"


def test_a_gpu_that_fills_up_gets_a_smaller_micro_batch_in_time() -> None:
    """Samples that grow steadily would fill the GPU in 15 minutes; the micro-batch is halved once, well before."""
    fleet = SimulatedFleet(MemoryExhaustion(ForecastSettings(), runs=Runs()))
    host = GovernedHost(fleet, {"micro_batch": value("micro_batch")})
    started = fleet.now
    used: list[float] = []

    def peak() -> float:
        sample = 2.0 + 2.0 * (fleet.now - started) / 900.0
        return (18.0 + host.number("micro_batch") * sample) * GIB

    def read() -> dict[str, float]:
        used.append(peak())
        return {
            "gpu_memory_used_bytes": peak(), "gpu_memory_total_bytes": 80 * GIB, "gpu_utilization_ratio": 0.95,
        }  # fmt: skip

    host.play(900, read, peak)
    assert [one.to for _, one in host.made] == [8]
    assert max(used) < 0.98 * 80 * GIB
    assert used[-1] < 60 * GIB
