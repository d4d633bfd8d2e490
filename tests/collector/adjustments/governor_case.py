"""A governor with a real store and fleet, whose ranks report steps second by second."""

import asyncio
import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from flyball_collector.adjustments.adjustment import Adjustment, AdjustmentState
from flyball_collector.adjustments.declared.ranks import RunValues
from flyball_collector.adjustments.governor.governor import Governor
from flyball_collector.adjustments.proposal import Proposal
from flyball_collector.adjustments.settings import AdjustmentsSettings
from flyball_collector.adjustments.situation.run_situation import MemoryFault
from flyball_collector.fleet.fleet import Fleet
from flyball_collector.own_metrics import OwnMetrics
from flyball_collector.store.contract import Store
from flyball_collector.store.memory import MemoryStore
from flyball_collector.testing import FakeClock
from flyball_collector.timeline.journal import Journal
from flyball_proto.v1 import adjust_pb2 as pb
from flyball_proto.v1 import telemetry_pb2
from tests.collector.adjustments.core_case import RUN, able_message

SETTINGS = AdjustmentsSettings(enabled=True, policy="auto", auto_safety=2, cooldown_minutes=0, max_per_hour=60)


class SentMessages:
    """Agents that are all connected. It keeps what was sent."""

    def __init__(self) -> None:
        self.all: list[tuple[str, pb.CollectorAdjust]] = []

    def send(self, host: str, message: pb.CollectorAdjust) -> bool:
        self.all.append((host, message))
        return True

    def kinds(self) -> list[str]:
        """Return the kinds of messages since the last call."""
        new, self.all = self.all, []
        return [message.WhichOneof("kind") or "" for _, message in new]


class ProposalsOf:
    """Rules that propose what a test wants."""

    def __init__(self, propose: Callable[[RunValues], Sequence[Proposal] | None], *, active: bool = True) -> None:
        self._propose = propose
        self.active = active

    def proposals(
        self,
        values: RunValues,
        faults: Sequence[MemoryFault],  # noqa: ARG002
        history: Sequence[Adjustment],  # noqa: ARG002
        now_ns: int,  # noqa: ARG002
    ) -> Sequence[Proposal] | None:
        return self._propose(values) if self.active else None

    def forget(self, run: str) -> None:
        """Do nothing."""


class GovernorCase:
    """A run of two ranks with half a second a step."""

    def __init__(
        self,
        store: Store | None = None,
        settings: AdjustmentsSettings = SETTINGS,
        clock: FakeClock | None = None,
        rules: ProposalsOf | None = None,
    ) -> None:
        self.store = store or MemoryStore()
        self.clock = clock or FakeClock()
        self.fleet = Fleet()
        self.journal = Journal(self.store, OwnMetrics())
        self.sent = SentMessages()
        self.seen: list[Adjustment] = []
        self.rules = rules
        self.governor = Governor(
            settings, self.store, self.journal, self.fleet.ranks, self.clock.time_ns, rules=rules, keep_days=1
        )
        self.governor.agents = self.sent
        self.governor.on_change(self.seen.append)
        self.step = 0
        self.value = "16"

    async def start(self) -> None:
        """Load what is stored, and let both ranks declare themselves."""
        await self.governor.load()
        self.declare()

    def declare(self, **fields: Any) -> None:
        """Let both ranks declare themselves."""
        for rank in range(2):
            message = able_message(rank, value=self.value, **{"step": self.step, **fields})
            assert self.governor.take(f"node-{rank}", pb.AgentAdjust(able=message)) == ""

    def second(self, step_seconds: float = 0.5, loss: float = 1.0, peak: int = 10**9) -> None:
        """Let a second pass, in which each rank makes steps and reports them."""
        self.clock.advance(1.0)
        steps = max(1, round(1.0 / step_seconds))
        self.step += steps
        now_ns = self.clock.time_ns()
        wobble = 1.0 + 0.01 * math.sin(self.step)
        for rank in range(2):
            report = telemetry_pb2.StepReport(
                run=RUN,
                rank=rank,
                world_size=2,
                pid=100 + rank,
                step=self.step,
                steps=steps,
                step_seconds=steps * step_seconds * wobble,
                tokens=1000.0 * steps,
                loss=loss,
                allocated_peak_bytes=peak,
            )
            self.fleet.ranks.add_reports(f"node-{rank}", [report], now_ns, now_ns)
        self.governor.every_second(now_ns)

    def seconds(self, count: int, step_seconds: float = 0.5, **fields: float) -> None:
        """Let some seconds pass."""
        for number in range(count):
            self.second(step_seconds, **fields)  # type: ignore[arg-type]  # a loss
            if number % 30 == 0:
                self.declare()

    def offered_by_rule(self) -> Adjustment:
        """Let the rules propose, and return what is offered then."""
        assert self.rules is not None
        self.rules.active = True
        self.seconds(5)
        return self.governor.find(state="offered")[0]

    def answer(
        self, adjustment: Adjustment, rank: int, verdict: "pb.Answer.Verdict.ValueType", observed: str = ""
    ) -> str:
        """Let a rank answer."""
        message = pb.Answer(
            id=adjustment.id,
            run=RUN,
            attempt=adjustment.attempt,
            rank=rank,
            pid=100 + rank,
            verdict=verdict,
            step=adjustment.at_step,
            observed=observed,
        )
        return self.governor.take(f"node-{rank}", pb.AgentAdjust(answer=message))

    def apply(self, adjustment: Adjustment) -> Adjustment:
        """Let both ranks prepare an offer, come to its step, and apply it."""
        for rank in range(2):
            self.answer(adjustment, rank, pb.Answer.PREPARED)
        while self.step < adjustment.at_step:
            self.second()
        self.value = str(adjustment.value_to)
        for rank in range(2):
            self.answer(adjustment, rank, pb.Answer.APPLIED, self.value)
        self.declare()
        return self.of(adjustment)

    def of(self, adjustment: Adjustment) -> Adjustment:
        """Return the newest version of an adjustment."""
        found = self.governor.get(adjustment.id)
        assert found is not None
        return found

    def states(self) -> list[AdjustmentState]:
        """Return the states that listeners have seen, without repetitions."""
        return list(dict.fromkeys(each.state for each in self.seen))

    async def written(self) -> None:
        """Write everything that waits, as at the end of the collector."""
        self.journal.close()
        with suppress(asyncio.CancelledError):
            await self.journal.run()
        self.journal.shut_down()
