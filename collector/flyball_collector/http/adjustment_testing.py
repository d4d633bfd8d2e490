"""A training whose ranks answer offers, with a real governor, for tests, screenshots and demonstrations."""

import itertools
from collections.abc import Sequence
from dataclasses import replace

import msgspec

from flyball_collector.adjustments.adjustment import Adjustment, AdjustmentState, MeasuredEffect, Value
from flyball_collector.adjustments.declared.ranks import RunValues
from flyball_collector.adjustments.governor.governor import Governor
from flyball_collector.adjustments.proposal import Proposal
from flyball_collector.adjustments.settings import AdjustmentsSettings
from flyball_collector.adjustments.shown.reporting import report_adjustments
from flyball_collector.adjustments.situation.run_situation import MemoryFault
from flyball_collector.adjustments.values import value_text
from flyball_collector.http.run_testing import TrainingDouble
from flyball_collector.security.tokens import TokensFile
from flyball_proto.v1 import adjust_pb2 as pb

RANKS = {"a": (0, 1), "b": (2, 3)}
"""The ranks of the training by host."""


class AdjustableTraining:
    """A run with four ranks. `answer()` lets all of them answer what they were sent."""

    def __init__(
        self, name: str = "r", *, settings: AdjustmentsSettings | None = None, tokens: TokensFile | None = None
    ) -> None:
        self.training = TrainingDouble(name)
        self._seconds = 10  # as many as the training has made already
        self.name = name
        self.sent: list[tuple[str, pb.CollectorAdjust]] = []
        self.value: dict[str, Value] = {"micro_batch": 16, "workers": 2}
        self.vetoes: dict[int, str] = {}  # reasons by rank
        self.wanted: tuple[Proposal, ...] = ()  # what the rules propose
        self._policy = "ask"
        self._offers: dict[str, pb.Offer] = {}
        parts, numbers = self.training.parts, itertools.count(1)
        allowed = settings or AdjustmentsSettings(enabled=True, policy="auto", watch_steps=20)
        self.governor = Governor(
            allowed, parts.store, parts.timeline.journal, parts.fleet.ranks, self.training.clock, rules=self,
            new_id=lambda: f"{next(numbers):08x}00000000",
        )  # fmt: skip
        self.governor.agents = self
        self.figures = report_adjustments(self.governor, parts.timeline, parts.own_metrics, self.training.clock)
        self.parts = replace(
            parts,
            adjustments=self.governor,
            tokens=tokens,
            settings=msgspec.structs.replace(parts.settings, adjustments=allowed),
        )

    async def begin(self, *, policy: str = "ask") -> "AdjustableTraining":
        """Load the governor, and let all ranks declare their values."""
        await self.governor.load()
        self._policy = policy
        self.declare()
        self.play(1)
        return self

    def declare(self) -> None:
        """Let all ranks declare their values, as they do every 30 s."""
        for host, ranks in RANKS.items():
            for rank in ranks:
                self.governor.take(host, pb.AgentAdjust(able=self.able(rank)))

    def send(self, host: str, message: pb.CollectorAdjust) -> bool:
        """Take a message for the ranks of a host."""
        self.sent.append((host, message))
        return True

    def proposals(
        self,
        values: RunValues,  # noqa: ARG002
        faults: Sequence[MemoryFault],  # noqa: ARG002
        history: Sequence[Adjustment],  # noqa: ARG002
        now_ns: int,  # noqa: ARG002
    ) -> Sequence[Proposal]:
        """Return what the test wants the rules to propose."""
        return self.wanted

    def forget(self, run: str) -> None:
        """Do nothing."""

    def propose(self, name: str = "workers", to: Value = 4) -> Adjustment:
        """Let a rule propose a change, and return it."""
        self.wanted = (
            Proposal(
                run=self.name, name=name, lever=name, value_from=self.value[name], to=to, rule="parallel_workers",
                because="the CPU is idle during calls", safety=1, expected_low=1.2, expected_high=1.8,
            ),
        )  # fmt: skip
        self.play(5)
        self.wanted = ()
        return self.governor.find(run=self.name, limit=1)[0]

    def answer(self) -> None:
        """Let the ranks answer until nothing more is sent, and the run pass the step of the change."""
        is_applied = False
        while self.sent:
            host, message = self.sent.pop(0)
            for rank in RANKS[host]:
                if (answer := self._answer_of(rank, message)) is not None:
                    is_applied |= answer.verdict == pb.Answer.APPLIED
                    self.governor.take(host, pb.AgentAdjust(answer=answer))
        if is_applied:
            self.play(10)

    def play(self, seconds: int, *, step_seconds: float = 0.2) -> None:
        """Let the run go on, with four steps a second of this duration on each rank."""
        for _ in range(seconds):
            self._seconds += 1
            if self._seconds % 30 == 0:
                self.declare()
            self.training.second(self._seconds, step_seconds=4 * step_seconds)
            self.governor.every_second(self.training.clock())

    def able(self, rank: int) -> pb.Able:
        """Return the declaration of a rank."""
        values = [
            _declared("micro_batch", self.value["micro_batch"], (1, 2, 4, 8, 16, 32), safety=2),
            _declared("workers", self.value["workers"], (1, 2, 4, 8), safety=1),
            _declared("compiled", False, (False, True), safety=2, blocked="compiled"),
        ]
        return pb.Able(
            run=self.name, attempt=1, rank=rank, world_size=4, pid=100 + rank % 2, policy=self._policy, register="c10d",
            step=4 * self._seconds, step_seconds=0.2, values=values,
        )  # fmt: skip

    def _answer_of(self, rank: int, message: pb.CollectorAdjust) -> pb.Answer | None:
        match message.WhichOneof("kind"):
            case "offer":
                self._offers[message.offer.id] = message.offer
                reason = self.vetoes.get(rank, "")
                verdict = pb.Answer.VETO if reason else pb.Answer.PREPARED
                return self._answer(rank, message.offer, verdict, reason=reason)
            case "commit":
                offer = self._offers[message.commit.id]
                self.value[offer.name] = msgspec.json.decode(offer.to)
                return self._answer(rank, offer, pb.Answer.APPLIED, observed=offer.to)
        return None

    def _answer(
        self,
        rank: int,
        offer: pb.Offer,
        verdict: "pb.Answer.Verdict.ValueType",
        *,
        reason: str = "",
        observed: str = "",
    ) -> pb.Answer:
        return pb.Answer(
            id=offer.id, run=self.name, attempt=1, rank=rank, pid=100 + rank % 2, verdict=verdict,
            step=offer.at_step if observed else 44, observed=observed, reason=reason,
        )  # fmt: skip


def faster(gain: float = 1.034) -> MeasuredEffect:
    """Return a measured effect with a gain."""
    return MeasuredEffect(
        gain=gain, gain_low=gain - 0.02, gain_high=gain + 0.02, step_seconds_before=0.2, step_seconds_after=0.2 / gain,
        tokens_per_second_before=1000.0, tokens_per_second_after=1000.0 * gain, peak_bytes_before=2**30,
        peak_bytes_after=2**29, steps_before=100, steps_after=100, faults=() if gain > 1 else ("slower",),
    )  # fmt: skip


def some_adjustment(state: AdjustmentState = AdjustmentState.KEPT, **fields: object) -> Adjustment:
    """Return an adjustment in a state."""
    known = Adjustment(
        id="9f2a000000000000", run="r", attempt=1, name="micro_batch", lever="micro_batch", value_from=16, value_to=8,
        safety=2, state=state, hosts=("a", "b"), ranks=4, at_step=240, created_ns=10**18, changed_ns=10**18 + 10**9,
    )  # fmt: skip
    return msgspec.structs.replace(known, **fields)


def _declared(
    name: str, value: Value, choices: Sequence[Value], *, safety: int, blocked: str = ""
) -> pb.AdjustableValue:
    return pb.AdjustableValue(
        name=name, value=value_text(value), choices=list(map(value_text, choices)), safety=safety, when="step",
        lever="" if blocked else name, blocked=blocked,
    )  # fmt: skip
