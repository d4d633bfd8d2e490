"""The whole loop on simulated readings: detectors, rules, the governor's core, and the client's own exchange."""

import json

import msgspec
from structlog.testing import capture_logs

from flyball.adjustments.register import LOCAL
from flyball.adjustments.value import AdjustableValue
from flyball_collector.adjustments.adjustment import AdjustmentState
from flyball_collector.adjustments.governor.governor import Governor
from flyball_collector.adjustments.rules.rule_source import RuleSource
from flyball_collector.adjustments.settings import AdjustmentsSettings
from flyball_collector.diagnosis.forecast.settings import ForecastSettings
from flyball_collector.diagnosis.forecast.thermal_slowdown import ThermalSlowdown
from flyball_collector.engine.start_up import StartUp
from flyball_collector.engine.testing.hosts import SimulatedFleet
from flyball_collector.own_metrics import OwnMetrics
from flyball_collector.store.memory import MemoryStore
from flyball_collector.timeline.journal import Journal
from flyball_proto.v1 import adjust_pb2 as pb
from flyball_proto.v1 import telemetry_pb2
from tests.collector.adjustments.simulation import SimulatedRank, line_of

GPU = "GPU-0"
LIMIT = 92.0
SHARES = (0, 0.1, 0.2, 0.3, 0.5, 0.7)
SETTINGS = AdjustmentsSettings(enabled=True, policy="auto")
VERDICTS = {
    "prepared": pb.Answer.PREPARED,
    "veto": pb.Answer.VETO,
    "applied": pb.Answer.APPLIED,
    "aborted": pb.Answer.ABORTED,
}


class GovernedTraining:
    """A training of one rank on one GPU that heats up, with two steps a second."""

    def __init__(self) -> None:
        self.fleet = SimulatedFleet(ThermalSlowdown(ForecastSettings()))
        member = telemetry_pb2.Member(pid=7, run="r", source="client", gpus=[GPU])
        self.fleet.host().tenancy = telemetry_pb2.Tenancy(members=[member])
        store = MemoryStore()
        rules = RuleSource(self.fleet.diagnosis, self.fleet.start_up, SETTINGS)
        clock = self.now_ns
        self.governor = Governor(
            SETTINGS, store, Journal(store, OwnMetrics()), self.fleet.fleet.ranks, clock, rules=rules
        )
        self.governor.agents = self
        self.throttle = AdjustableValue("throttle", 0, choices=SHARES, lever="throttle")
        self.rank = SimulatedRank(0, 0, LOCAL, self.throttle)
        self.step = 0
        self.celsius = 60.0

    def now_ns(self) -> int:
        return int(self.fleet.now * 10**9)

    def send(self, _host: str, message: pb.CollectorAdjust) -> bool:
        """Pass a message on to the rank, as the agent does."""
        self.rank.inbox.append(line_of(message))
        return True

    def second(self) -> None:
        """Let a second pass."""
        share = float(self.throttle.now)
        self.celsius += (42.0 + 60.0 * (0.2 + 0.8 * (1.0 - share)) - self.celsius) / 120.0
        self.fleet.set("gpu_temperature_celsius", round(self.celsius), gpu=GPU)
        self.fleet.set("gpu_temperature_margin_celsius", LIMIT - round(self.celsius), gpu=GPU)
        self.fleet.set("gpu_utilization_ratio", 1.0 - share, gpu=GPU)
        self.fleet.report(
            telemetry_pb2.StepReport(
                run="r", rank=0, world_size=1, pid=7, step=self.step + 2, steps=2, step_seconds=1.0
            )
        )
        self.fleet.step()
        for _ in range(2):
            self.step += 1
            for answer in self.rank.boundary(self.step, self.fleet.now):
                self.answer(answer)
        if self.step % 60 == 2:
            self.declare()
        self.governor.every_second(self.now_ns())

    def declare(self) -> None:
        value = pb.AdjustableValue(
            name="throttle",
            value=json.dumps(self.throttle.now),
            choices=[json.dumps(each) for each in SHARES],
            safety=1,
            when="step",
            lever="throttle",
        )
        able = pb.Able(
            run="r",
            world_size=1,
            pid=7,
            policy="auto",
            register="local",
            step=self.step,
            step_seconds=0.5,
            values=[value],
        )
        assert self.governor.take("a", pb.AgentAdjust(able=able)) == ""

    def answer(self, answer: dict[str, object]) -> None:
        observed = json.dumps(answer["observed"]) if "observed" in answer else ""
        message = pb.Answer(
            id=str(answer["id"]),
            run="r",
            pid=7,
            verdict=VERDICTS[str(answer["kind"])],
            step=self.step,
            observed=observed,
        )
        assert self.governor.take("a", pb.AgentAdjust(answer=message)) == ""


async def test_a_gpu_that_heats_up_is_throttled_by_the_governor() -> None:
    """A GPU that would end 10 °C above its limit stays below it, by changes that the rank made at its own steps."""
    training = GovernedTraining()
    await training.governor.load()
    hottest = 0.0
    for _ in range(500):
        training.second()
        hottest = max(hottest, training.celsius)
    assert hottest < LIMIT
    assert float(training.throttle.now) > 0
    made = training.governor.find(run="r", state="kept")
    assert 1 <= len(made) <= 6
    assert all(each.rule == "throttle_heat" or float(each.value_to) < float(each.value_from) for each in made)
    assert {each.state for each in training.governor.find(run="r")} <= {AdjustmentState.KEPT, AdjustmentState.OFFERED}
    assert training.governor.tried("r") == made


async def test_rules_wait_until_the_diagnosis_is_warm() -> None:
    """After a start of the collector nothing is proposed before the last minutes are known."""
    training = GovernedTraining()
    cold = RuleSource(training.fleet.diagnosis, StartUp.cold(), SETTINGS)
    training.second()
    values = training.governor.values("r")
    assert values is not None
    assert cold.proposals(values, (), (), training.now_ns()) is None
    warm = RuleSource(training.fleet.diagnosis, StartUp(), SETTINGS)
    assert warm.proposals(values, (), (), training.now_ns()) is not None
    warm.forget("r")


def test_a_misspelt_lever_is_reported_at_the_start() -> None:
    """A misspelt lever stays in use, so the log names it and those that exist."""
    fleet = SimulatedFleet()
    for levers, warned in ((("micro_batch", "pause"), []), (("microbatch",), [["microbatch"]])):
        settings = msgspec.structs.replace(SETTINGS, disabled_levers=levers)
        with capture_logs() as logged:
            RuleSource(fleet.diagnosis, fleet.start_up, settings)
        assert [each["levers"] for each in logged if each["event"] == "unknown_levers_disabled"] == warned
        assert all("micro_batch" in each["known"] for each in logged)
