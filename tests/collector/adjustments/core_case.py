"""A governor's core with some ranks that declare and answer what a test wants."""

import json
from itertools import count
from typing import Any

from flyball_collector.adjustments.adjustment import Adjustment, AdjustmentState, MeasuredEffect, RankAnswer, Value
from flyball_collector.adjustments.core.core import AdjustmentCore
from flyball_collector.adjustments.core.timing import StepProgress
from flyball_collector.adjustments.declared.ranks import AbleRank, RankValue, able_rank
from flyball_collector.adjustments.proposal import Proposal
from flyball_collector.adjustments.settings import AdjustmentsSettings
from flyball_proto.v1 import adjust_pb2 as pb

SECOND = 10**9
START_NS = 1_900_000_000 * SECOND
RUN = "llama"
CHOICES = (1, 2, 4, 8, 16, 32)

_cases = count()

AUTO = AdjustmentsSettings(enabled=True, policy="auto", auto_safety=2)


def micro_batch(value: Value = 16, **fields: object) -> RankValue:
    """Return the usual value of these tests."""
    known: dict[str, object] = {"choices": CHOICES, "safety": 2, "lever": "micro_batch"}
    return RankValue("micro_batch", value, **{**known, **fields})  # type: ignore[arg-type]  # the test's own names


def able(rank: int = 0, world: int = 2, *values: RankValue, **fields: object) -> AbleRank:
    """Return what a rank declares. Each rank has a host of its own."""
    known: dict[str, object] = {
        "host": f"node-{rank}",
        "run": RUN,
        "attempt": 0,
        "rank": rank,
        "world_size": world,
        "pid": 100 + rank,
        "policy": "auto",
        "register": "c10d" if world > 1 else "local",
        "step": 100,
        "step_seconds": 0.5,
        "values": {each.name: each for each in values or (micro_batch(),)},
        "received_ns": START_NS,
    }
    return AbleRank(**{**known, **fields})  # type: ignore[arg-type]  # the test's own names


def able_message(rank: int = 0, world: int = 2, value: str = "16", **fields: Any) -> pb.Able:
    """Return the same as an agent sends it."""
    declared = pb.AdjustableValue(
        name="micro_batch",
        value=value,
        choices=[json.dumps(each) for each in CHOICES],
        safety=2,
        when="step",
        lever="micro_batch",
    )
    known: dict[str, Any] = {
        "run": RUN,
        "rank": rank,
        "world_size": world,
        "pid": 100 + rank,
        "policy": "auto",
        "register": "c10d" if world > 1 else "local",
        "step": 100,
        "step_seconds": 0.5,
        "values": [declared],
    }
    return pb.Able(**{**known, **fields})


def rank_of(message: pb.Able, host: str = "node-0") -> AbleRank:
    """Return a checked declaration."""
    return able_rank(host, message, START_NS)


def proposal(to: Value = 8, **fields: object) -> Proposal:
    """Return what a rule proposes."""
    known: dict[str, object] = {
        "run": RUN,
        "name": "micro_batch",
        "lever": "micro_batch",
        "value_from": 16,
        "to": to,
        "rule": "shrink",
        "because": "memory is nearly full",
        "safety": 2,
    }
    return Proposal(**{**known, **fields})  # type: ignore[arg-type]  # the test's own names


def effect(gain: float = 1.0, **fields: object) -> MeasuredEffect:
    """Return a measured effect."""
    known: dict[str, object] = {
        "gain_low": gain - 0.01,
        "gain_high": gain + 0.01,
        "step_seconds_before": 0.5,
        "step_seconds_after": 0.5 / gain,
    }
    return MeasuredEffect(gain=gain, **{**known, **fields})  # type: ignore[arg-type]  # the test's own names


class CoreCase:
    """A core whose ranks have declared themselves, unless a test wants none."""

    def __init__(
        self, world: int = 2, settings: AdjustmentsSettings = AUTO, *values: RankValue, **fields: object
    ) -> None:
        ids = count(1 + 1000 * next(_cases))  # a restarted core makes ids of its own
        self.core = AdjustmentCore(settings, lambda: f"{next(ids):016x}")
        self.core.term = 7
        self.now = START_NS
        self.world = world
        self.sent: list[tuple[str, pb.CollectorAdjust]] = []
        for rank in range(world):
            self.core.able(able(rank, world, *values, **fields), self.now)

    def wait(self, seconds: float, every: float = 1.0) -> None:
        """Let time pass."""
        until = self.now + int(seconds * SECOND)
        while self.now < until:
            self.now = min(until, self.now + int(every * SECOND))
            self.core.tick(self.now)

    def declare(self, rank: int, *values: RankValue, **fields: object) -> bool:
        """Let a rank declare itself now."""
        return self.core.able(able(rank, self.world, *values, **{"received_ns": self.now, **fields}), self.now)

    def messages(self, kind: str = "") -> list[tuple[str, pb.CollectorAdjust]]:
        """Return what was sent since the last call."""
        self.sent += self.core.outbox.messages
        new, self.core.outbox.messages = self.core.outbox.messages, []
        return [(host, message) for host, message in new if kind in {"", message.WhichOneof("kind")}]

    def ask(self, to: Value = 8, name: str = "micro_batch", who: str = "alice") -> Adjustment:
        """Let a person ask for a change."""
        return self.core.by_person(RUN, name, to, who, "", self.now)

    def answer(
        self, adjustment: Adjustment, rank: int, verdict: str, observed: Value | None = None, **fields: object
    ) -> bool:
        """Let a rank answer."""
        known: dict[str, object] = {"host": f"node-{rank}", "pid": 100 + rank, "step": 0, "reason": ""}
        found = {**known, **fields}
        message = pb.Answer(
            id=adjustment.id, run=RUN, attempt=adjustment.attempt, rank=rank, pid=int(str(found["pid"]))
        )
        answer = RankAnswer(
            verdict=verdict,
            step=int(str(found["step"])) or adjustment.at_step,
            observed=observed,
            reason=str(found["reason"]),
            time_ns=self.now,
        )
        return self.core.answer(str(found["host"]), message, answer)

    def all_answer(self, adjustment: Adjustment, verdict: str, observed: Value | None = None) -> Adjustment:
        """Let all ranks answer the same. Return the adjustment as it is then."""
        for rank in range(self.world):
            self.answer(adjustment, rank, verdict, observed)
        return self.of(adjustment)

    def apply(self, adjustment: Adjustment) -> Adjustment:
        """Let all ranks prepare and apply an offer."""
        self.all_answer(adjustment, "prepared")
        return self.all_answer(adjustment, "applied", adjustment.value_to)

    def applied(self, to: Value = 8) -> Adjustment:
        """Return a change that a person has asked for and all ranks have applied."""
        return self.apply(self.ask(to))

    def kept(self, to: Value = 8) -> Adjustment:
        """Return a change that was applied and kept."""
        adjustment = self.applied(to)
        self.core.measured(adjustment, effect(), self.now)
        return self.of(adjustment)

    def of(self, adjustment: Adjustment) -> Adjustment:
        """Return the newest version of an adjustment."""
        return self.core.books[RUN].adjustments[adjustment.id]

    def newest(self) -> Adjustment:
        """Return the newest adjustment."""
        return self.core.history(RUN)[0]

    def progress(self, step: int, seconds: float = 0.5) -> None:
        """Let the fleet report a step."""
        self.core.progress(RUN, StepProgress(step, seconds, self.now))

    def state(self, adjustment: Adjustment) -> AdjustmentState:
        """Return the state of an adjustment."""
        return self.of(adjustment).state


def harm(case: CoreCase, adjustment: Adjustment) -> None:
    """Let the measured effect of a change be harmful."""
    case.core.measured(adjustment, effect(0.8, faults=("slower",)), case.now, harm="the run became slower")
