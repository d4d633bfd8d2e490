"""The governor's core and the client's own exchanges over a network that loses, delays, doubles and reorders messages.

Time is simulated, so that thousands of offers take seconds. Both sides are the real ones; only agent and sockets are
replaced by a queue of events. What a rank does in a step is compared with all other ranks in the same step.
"""

import json
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, Any

from flyball.adjustments.exchange import OfferExchange, RankMoment
from flyball.adjustments.register import LOCAL
from flyball.adjustments.value import AdjustableValue
from flyball_collector.adjustments.adjustment import IN_PROGRESS, Adjustment, AdjustmentState, RankAnswer
from flyball_collector.adjustments.core.core import AdjustmentCore
from flyball_collector.adjustments.core.offer_checks import NotPossible
from flyball_collector.adjustments.core.timing import StepProgress
from flyball_collector.adjustments.declared.ranks import AbleRank, RankValue
from flyball_proto.v1 import adjust_pb2 as pb
from tests.collector.adjustments.core_case import AUTO, RUN
from tests.collector.adjustments.simulated_time import SimulatedTime

if TYPE_CHECKING:
    from flyball.adjustments.register import Register

CHOICES = (4, 8, 16)
ABLE_SECONDS = 30.0
REPORT_SECONDS = 1.0
POLL_SECONDS = 0.05
LONGEST_OFFER_SECONDS = 400.0


@dataclass(frozen=True, slots=True)
class Network:
    """The faults of messages, as shares; `late_share` of them take up to `late_seconds`."""

    lost: float = 0.0
    doubled: float = 0.0
    seconds: float = 0.03
    late_share: float = 0.0
    late_seconds: float = 10.0


@dataclass(frozen=True, slots=True)
class Faults:
    """The network, and how often something is killed while an offer is under way."""

    network: Network = field(default_factory=Network)
    ranks_killed: float = 0.0
    collectors_killed: float = 0.0


class SharedRegister:
    """The store of the job: the first decision of each key holds for all."""

    kind = "c10d"

    def __init__(self) -> None:
        self._decisions: dict[str, str] = {}

    def decide(self, key: str, mine: str) -> str:
        """Write a decision if there is none yet. Return the one that all obey."""
        return self._decisions.setdefault(key, mine)

    def peek(self, key: str) -> str:
        """Return the decision, or an empty text if there is none yet."""
        return self._decisions.get(key, "")


class SimulatedRank:
    """One rank: the client's exchange, the messages that wait in its socket, and when it looks at them."""

    def __init__(self, rank: int, attempt: int, register: "Register", value: AdjustableValue | None = None) -> None:
        self.rank = rank
        self.attempt = attempt
        self.value = value or AdjustableValue("micro_batch", 16, choices=CHOICES, safety=2, lever="micro_batch")
        self.exchange = OfferExchange({self.value.name: self.value}, lambda: register)
        self.inbox: list[dict[str, Any]] = []
        self.read_at = float("-inf")
        self.declared_at = float("-inf")
        self.declared: Any = None

    def boundary(self, step: int, now: float) -> list[dict[str, Any]]:
        """Make a boundary. Return the answers."""
        moment = RankMoment(step, self.attempt, now)
        answers: list[dict[str, Any]] = []
        if now - self.read_at >= (REPORT_SECONDS if self.exchange.pending is None else POLL_SECONDS):
            self.read_at = now
            waiting, self.inbox = self.inbox, []
            answers += [answer for each in waiting if (answer := self.exchange.take(each, moment)) is not None]
        if (answer := self.exchange.decide(moment)) is not None:
            answers.append(answer)
        return answers


@dataclass(slots=True)
class SimulationResult:
    """The outcomes of all offers."""

    states: Counter[AdjustmentState] = field(default_factory=Counter)
    splits: int = 0
    longest_offer_seconds: float = 0.0  # from the offer to its commit or end
    failures: list[str] = field(default_factory=list)

    @property
    def offers(self) -> int:
        """Return the number of offers."""
        return sum(self.states.values())

    @property
    def committed_share(self) -> float:
        """Return the share of offers that all ranks have applied."""
        return self.states[AdjustmentState.KEPT] / self.offers if self.offers else 0.0


class Simulation(SimulatedTime):
    """A run of some ranks that a person changes again and again."""

    def __init__(
        self,
        seed: int,
        *,
        world: int = 3,
        step_seconds: float = 0.5,
        faults: Faults | None = None,
        common_register: bool = True,
    ) -> None:
        """Begin. Without a common register, each rank decides by the messages that it has got."""
        self._random = random.Random(seed)
        self._faults = faults or Faults()
        self._world = world
        self._common_register = common_register
        self._step_seconds = step_seconds
        super().__init__()
        self._ids = count(1)
        self._step = 0
        self._attempt = 0
        self._seen: dict[tuple[int, int], Any] = {}
        self._stored: dict[str, Adjustment] = {}
        self.result = SimulationResult()
        self.core = self._new_core()
        self.ranks = self._new_ranks()
        self._at(0.0, self._next_step)
        self._at(0.5, self._tick)

    def run(self, offers: int) -> SimulationResult:
        """Make so many offers, one after the other."""
        while self.result.offers < offers:
            self._one_offer()
        return self.result

    def _one_offer(self) -> None:
        adjustment = None
        while adjustment is None:
            self._advance(1.0)
            adjustment = self._ask()
        self._plan_kills()
        began, decided = self._now, None
        while self._state(adjustment) in IN_PROGRESS:
            self._advance(0.25)
            if decided is None and self._state(adjustment) is not AdjustmentState.OFFERED:
                decided = self._now - began
            if self._state(adjustment) is AdjustmentState.APPLIED:
                self.core.measured(self.core.books[RUN].adjustments[adjustment.id], None, self._now_ns())
                self._flush()
            if self._now - began > LONGEST_OFFER_SECONDS:
                self.result.failures.append(f"{adjustment.id} is still {self._state(adjustment)}")
                break
        self.result.longest_offer_seconds = max(self.result.longest_offer_seconds, decided or 0.0)
        ended = self.core.books[RUN].adjustments[adjustment.id]
        self.result.states[ended.state] += 1
        if ended.state is AdjustmentState.FAILED:
            self.result.failures.append(f"{ended.id}: {ended.reason}")

    def _ask(self) -> Adjustment | None:
        values = self.core.ables.run(RUN)
        declared = values.value("micro_batch") if values is not None else None
        if declared is None:
            return None
        to = self._random.choice([each for each in CHOICES if each != declared.value])
        try:
            adjustment = self.core.by_person(RUN, "micro_batch", to, "alice", "", self._now_ns())
        except NotPossible:
            return None
        finally:
            self._flush()
        return adjustment

    def _state(self, adjustment: Adjustment) -> AdjustmentState:
        return self.core.books[RUN].adjustments[adjustment.id].state

    # --- time ---

    def _tick(self) -> None:
        self.core.progress(RUN, StepProgress(self._step, self._step_seconds, self._now_ns()))
        self.core.tick(self._now_ns())
        self._flush()
        self._at(self._now + 1.0, self._tick)

    # --- ranks ---

    def _new_ranks(self) -> list[SimulatedRank]:
        shared: Register = SharedRegister() if self._world > 1 else LOCAL
        return [
            SimulatedRank(rank, self._attempt, shared if self._common_register else SharedRegister())
            for rank in range(self._world)
        ]

    def _next_step(self) -> None:
        """Let all ranks come to the end of the next step, at slightly different times."""
        self._step += 1
        for rank in self.ranks:
            self._at(
                self._now + self._random.uniform(0.0, 0.2) * self._step_seconds, self._boundary_of(rank, self._step)
            )
        self._at(self._now + self._step_seconds, self._next_step)

    def _boundary_of(self, rank: SimulatedRank, step: int) -> Callable[[], None]:
        def boundary() -> None:
            if rank.attempt != self._attempt:
                return  # its process was killed
            for answer in rank.boundary(step, self._now):
                self._send(lambda answer=answer: self._to_core(rank, answer))  # type: ignore[misc]  # bound now
            common = self._seen.setdefault((rank.attempt, step), rank.value.now)
            self.result.splits += common != rank.value.now
            self._seen.pop((rank.attempt, step - 4), None)
            self._declare(rank, step)

        return boundary

    def _declare(self, rank: SimulatedRank, step: int) -> None:
        if rank.declared == rank.value.now and self._now - rank.declared_at < ABLE_SECONDS:
            return
        rank.declared, rank.declared_at = rank.value.now, self._now
        value = RankValue("micro_batch", rank.value.now, CHOICES, 2, "step", "micro_batch")
        able = AbleRank(
            host=f"node-{rank.rank}",
            run=RUN,
            attempt=rank.attempt,
            rank=rank.rank,
            world_size=self._world,
            pid=1000 * rank.attempt + rank.rank + 1,
            policy="auto",
            register="c10d" if self._world > 1 else "local",
            step=step,
            step_seconds=self._step_seconds,
            values={"micro_batch": value},
            received_ns=self._now_ns(),
        )
        self._send(lambda: self._take_able(able))

    # --- the network ---

    def _send(self, action: Callable[[], None]) -> None:
        network = self._faults.network
        if self._random.random() < network.lost:
            return
        for _ in range(1 + (self._random.random() < network.doubled)):
            is_late = self._random.random() < network.late_share
            self._at(
                self._now + self._random.uniform(0.0, network.late_seconds if is_late else network.seconds), action
            )

    def _take_able(self, able: AbleRank) -> None:
        self.core.able(able, self._now_ns())
        self._flush()

    def _to_core(self, rank: SimulatedRank, answer: dict[str, Any]) -> None:
        pid = 1000 * rank.attempt + rank.rank + 1
        message = pb.Answer(id=answer["id"], run=RUN, attempt=rank.attempt, rank=rank.rank, pid=pid)
        taken = RankAnswer(
            verdict=answer["kind"],
            step=answer["step"],
            observed=answer.get("observed"),
            reason=answer.get("reason", ""),
            time_ns=self._now_ns(),
        )
        self.core.answer(f"node-{rank.rank}", message, taken)
        self._flush()

    def _flush(self) -> None:
        outbox = self.core.outbox
        for adjustment in outbox.changed:
            self._stored[adjustment.id] = adjustment
        for answered in outbox.answered:  # the governor stores these within a second
            self._stored[answered] = self.core.books[RUN].adjustments[answered]
        messages = outbox.messages
        outbox.changed, outbox.answered, outbox.messages, outbox.loud = [], set(), [], []
        for host, message in messages:
            line = line_of(message)
            attempt = self._attempt
            self._send(lambda host=host, line=line, attempt=attempt: self._to_rank(host, line, attempt))  # type: ignore[misc]  # bound now

    def _to_rank(self, host: str, line: dict[str, Any], attempt: int) -> None:
        if attempt == self._attempt:
            self.ranks[int(host.rpartition("-")[2])].inbox.append(dict(line))

    # --- kills ---

    def _plan_kills(self) -> None:
        for share, kill in (
            (self._faults.ranks_killed, self._kill_rank),
            (self._faults.collectors_killed, self._kill_collector),
        ):
            if self._random.random() < share:
                self._at(self._now + self._random.uniform(0.0, 12.0), kill)

    def _kill_rank(self) -> None:
        """Kill a rank: its launcher restarts all of them."""
        self._attempt += 1
        self.ranks = self._new_ranks()

    def _kill_collector(self) -> None:
        """Start the collector again with what was stored. The agents declare their ranks again."""
        self.core = self._new_core()
        self.core.load(sorted(self._stored.values(), key=lambda each: each.created_ns), [], self._now_ns())
        for rank in self.ranks:
            rank.declared = None
        self._flush()

    def _new_core(self) -> AdjustmentCore:
        core = AdjustmentCore(AUTO, lambda: f"{next(self._ids):016x}")
        core.term = next(self._order) + 1
        return core


def line_of(message: pb.CollectorAdjust) -> dict[str, Any]:
    """Return a message as the agent passes it on to a rank."""
    kind = message.WhichOneof("kind")
    if kind == "offer":
        offer = message.offer
        return {
            "kind": "offer",
            "id": offer.id,
            "name": offer.name,
            "from": json.loads(getattr(offer, "from")),
            "to": json.loads(offer.to),
            "at": offer.at_step,
            "attempt": offer.attempt,
            "expires_seconds": offer.expires_seconds,
            "safety": offer.safety,
            "because": offer.because,
        }
    ended = message.commit if kind == "commit" else message.withdraw
    return {"kind": kind, "id": ended.id, "reason": getattr(ended, "reason", "")}
