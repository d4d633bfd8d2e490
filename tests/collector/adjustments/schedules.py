"""Random schedules of kills, pauses and restarts around adjustments, in simulated time.

The governor's core, the agent's desk and the client's exchange are the real ones. The wires between them, the store and
the training are replaced by a queue of events. One host has two ranks, so that a lost agent loses two answers.
"""

import json
import random
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from flyball.adjustments.exchange import OfferExchange, RankMoment
from flyball.adjustments.value import LATER, AdjustableValue
from flyball_agent.adjustments.desk import AdjustmentDesk
from flyball_agent.runs.adjustment_messages import AbleMessage, OomMessage
from flyball_agent.runs.listeners import TooManyMessages
from flyball_agent.runs.messages import Hello, decode
from flyball_agent.runs.registry import SocketPeer
from flyball_agent.testing import FakeHostClock
from flyball_collector.adjustments.adjustment import IN_PROGRESS, Adjustment, AdjustmentState
from flyball_collector.adjustments.core.answer_messages import answer_of, answer_of_outcome
from flyball_collector.adjustments.core.book import PolicyChoice, RunBook
from flyball_collector.adjustments.core.core import AdjustmentCore
from flyball_collector.adjustments.core.offer_checks import NotPossible
from flyball_collector.adjustments.core.timing import StepProgress
from flyball_collector.adjustments.declared.ranks import able_rank
from flyball_collector.adjustments.settings import AdjustmentsSettings
from flyball_proto.v1 import adjust_pb2 as pb
from flyball_proto.v1 import telemetry_pb2
from tests.collector.adjustments.core_case import RUN, SECOND, proposal
from tests.collector.adjustments.simulated_time import SimulatedTime
from tests.collector.adjustments.simulation import SharedRegister

HOSTS = (2, 1)
"""Ranks of each host."""

STEP_SECONDS = 0.5
EPOCH_STEPS = 400
FAULTY_SECONDS = 1200.0
QUIET_SECONDS = 4500.0
"""Afterwards nothing fails for longer than the hour in which a lost last word is asked for again."""

CHOICES = (4, 8, 16)
SETTINGS = AdjustmentsSettings(
    enabled=True, policy="auto", auto_safety=2, cooldown_minutes=0, max_per_hour=60, approval_minutes=5
)


class ScheduledRank:
    """A rank: its values, its exchange, and the lines that wait on both sides of its socket."""

    def __init__(self, rank: int, attempt: int, pid: int, register: SharedRegister) -> None:
        self.rank, self.attempt, self.pid = rank, attempt, pid
        self.values = {
            "micro_batch": AdjustableValue("micro_batch", 16, choices=CHOICES, safety=2, lever="micro_batch"),
            "workers": AdjustableValue("workers", 4, choices=CHOICES, when="epoch", apply=self._at_epoch),
            "throttle": AdjustableValue("throttle", 0, choices=(0, 1), lever="throttle"),
        }
        for value in self.values.values():
            value.attach(self)
        self.exchange = OfferExchange(self.values, lambda: register)
        self.inbox: list[dict[str, Any]] = []
        self.outbox: list[dict[str, Any]] = []
        self.peer: SocketPeer | None = None  # while it is connected
        self.read_at = self.declared_at = float("-inf")
        self.moment = RankMoment(0, attempt, 0.0)
        self._waiting: int | None = None

    def _at_epoch(self, to: int) -> Any:
        self._waiting = to
        return LATER

    def announce(self) -> None:
        """Declare the values again with the next report."""
        self.declared_at = float("-inf")

    def took_effect(self, value: AdjustableValue, failure: str) -> None:
        """Answer for a change that has waited for an epoch."""
        answer = self.exchange.take_effect(value, failure, self.moment)
        self.outbox += [] if answer is None else [answer]

    def begin_epoch(self, failure: str) -> None:
        """Make the change that waits, or fail to."""
        to, self._waiting = self._waiting, None
        if to is not None:
            self.values["workers"].took_effect(None if failure else to, failure)
            self.announce()

    def boundary(self, step: int, now: float) -> None:
        """End a step: read what has come, if that is due, and decide."""
        self.moment = RankMoment(step, self.attempt, now)
        if now - self.read_at >= (1.0 if self.exchange.pending is None else 0.05):
            self.read_at = now
            waiting, self.inbox = self.inbox, []
            self.outbox += [answer for each in waiting if (answer := self.exchange.take(each, self.moment)) is not None]
        if (answer := self.exchange.decide(self.moment)) is not None:
            self.outbox.append(answer)
            self.announce()

    def able(self) -> dict[str, Any]:
        """Return what it declares."""
        names = ("name", "safety", "when", "lever")
        values = [
            {**{key: getattr(each, key) for key in names}, "value": each.now, "choices": list(each.choices)}
            for each in self.values.values()
        ]
        at = {"step": self.moment.step, "step_seconds": STEP_SECONDS, "attempt": self.attempt, "group": "job"}
        return {"kind": "able", "register": "c10d", "policy": "auto", "values": values, **at}


class ScheduledAgent:
    """The agent of a host: its desk, its stream, and the outcomes that its spool keeps over a restart."""

    def __init__(
        self, host: str, now: Callable[[], float], later: Callable[[float, Callable[[], None]], object]
    ) -> None:
        self.host = host
        self.spool: deque[telemetry_pb2.AdjustmentOutcome] = deque()
        self.stopped_until = 0.0
        self.is_up = self.has_stream = False
        self._now, self._later = now, later
        self.peers: dict[SocketPeer, ScheduledRank] = {}
        self.start()

    def start(self) -> None:
        """Start with nothing but the spool."""
        self.is_up, self.has_stream, self.peers = True, False, {}
        later = self._later
        self.desk = AdjustmentDesk(lambda: self, FakeHostClock(), enabled=True, now=self._now, later=later)

    def push_to(self, peer: SocketPeer, line: bytes) -> bool:
        """Send a line to a rank."""
        rank = self.peers.get(peer)
        if rank is None or rank.peer != peer:
            return False
        rank.inbox.append(json.loads(line))
        return True

    def push_to_all(self, line: bytes) -> None:
        """Send a line to each rank."""
        for peer in self.peers:
            self.push_to(peer, line)

    def take(self, rank: ScheduledRank, line: dict[str, Any]) -> None:
        """Take a line of a rank."""
        hello = Hello(run=RUN, rank=rank.rank, world_size=sum(HOSTS), group="job")
        message, peer = decode(json.dumps(line).encode()), rank.peer
        assert peer is not None
        try:
            if isinstance(message, AbleMessage):
                self.desk.able(peer, hello, message)
            elif not isinstance(message, OomMessage):
                self.desk.answer(peer, hello, message)  # type: ignore[arg-type]  # the only other kinds here
        except TooManyMessages:
            return


@dataclass(slots=True)
class ScheduleResult:
    """The faults that were found, and what happened."""

    faults: list[str] = field(default_factory=list)
    kills: int = 0
    ended: dict[AdjustmentState, int] = field(default_factory=dict)
    longest_blocked_seconds: float = 0.0  # from an epoch on, or from the last fault if that was later
    splits: int = 0


class Schedule(SimulatedTime):
    """One random schedule."""

    def __init__(self, seed: int, *, lone_failures: bool = False) -> None:
        """Begin. With `lone_failures`, a rank alone may fail to change as its epoch begins."""
        self._random = random.Random(seed)
        self._lone_failures = lone_failures
        self._fault_seconds = self._random.choice((20.0, 60.0, 150.0))  # between two of them
        super().__init__()
        self._ids, self._pids, self._terms = count(1), count(1), count(1)
        self._collector_down_until = self._fault_at = 0.0
        self._step = self._attempt = 0
        self._seen: dict[tuple[int, int], tuple[Any, ...]] = {}
        self._stored: dict[str, Adjustment] = {}
        self._unwritten: deque[tuple[float, str, Adjustment | None]] = deque()  # with the version before
        self._free_since: dict[str, float] = {}
        self._epoch_at = 0.0
        self.result = ScheduleResult()
        self.agents = [ScheduledAgent(f"node-{n}", lambda: self._now, self._after) for n in range(len(HOSTS))]
        self.core = self._new_core()
        self.ranks: list[ScheduledRank] = []
        self._restart_job()
        for action in (self._next_step, self._second, self._person, self._fault):
            self._after(self._random.uniform(0.5, 1.5), action)

    # --- the course of a schedule ---

    def run(self) -> ScheduleResult:
        """Let faults happen for a while, then let everything come to its end, and check it."""
        self._advance(FAULTY_SECONDS)
        self._advance(QUIET_SECONDS)
        self._check_end()
        for each in self._stored.values():
            self.result.ended[each.state] = self.result.ended.get(each.state, 0) + 1
        return self.result

    @property
    def _is_faulty(self) -> bool:
        return self._now < FAULTY_SECONDS

    @property
    def _book(self) -> RunBook:
        return self.core.books.get(RUN) or RunBook(RUN)

    # --- the training ---

    def _restart_job(self) -> None:
        register = SharedRegister()
        self.ranks = [ScheduledRank(rank, self._attempt, next(self._pids), register) for rank in range(sum(HOSTS))]

    def _agent_of(self, rank: int) -> ScheduledAgent:
        return self.agents[0 if rank < HOSTS[0] else 1]

    def _next_step(self) -> None:
        self._step += 1
        if self._step % EPOCH_STEPS == 0:
            self._begin_epoch()
        for rank in self.ranks:
            step, late = self._step, self._random.uniform(0.0, 0.2) * STEP_SECONDS
            self._after(late, lambda rank=rank, step=step: self._boundary(rank, step))  # type: ignore[misc]  # bound now
        self._after(STEP_SECONDS, self._next_step)

    def _begin_epoch(self) -> None:
        self._epoch_at = self._now
        fails = self._is_faulty and self._random.random() < 0.3
        alone = self._random.randrange(len(self.ranks)) if self._lone_failures and fails else None
        for rank in self.ranks:
            rank.begin_epoch("workers_failed" if fails and alone in (None, rank.rank) else "")

    def _boundary(self, rank: ScheduledRank, step: int) -> None:
        if rank.attempt != self._attempt:
            return
        before = {name: value.now for name, value in rank.values.items()}
        rank.boundary(step, self._now)
        for name, value in rank.values.items():
            if value.now != before[name] and not any(each.name == name for each in self._stored.values()):
                self.result.faults.append(f"{name} was changed without a record")
        mine = (rank.values["micro_batch"].now, None if self._lone_failures else rank.values["workers"].now)
        self.result.splits += self._seen.setdefault((rank.attempt, step), mine) != mine
        self._seen.pop((rank.attempt, step - 4), None)
        self._report(rank)

    def _report(self, rank: ScheduledRank) -> None:
        """Connect if possible, and send what is due. What is sent to an agent that dies is lost."""
        agent = self._agent_of(rank.rank)
        if rank.peer is None or rank.peer not in agent.peers:
            if not agent.is_up or self._random.random() > 0.3:
                rank.peer = None
                return
            rank.peer = SocketPeer(rank.pid, 1000, next(self._pids))
            agent.peers[rank.peer] = rank
            rank.announce()
        if self._now - rank.declared_at >= 30.0:
            rank.declared_at = self._now
            rank.outbox.append(rank.able())
        lines, rank.outbox, peer = rank.outbox, [], rank.peer
        delay = max(0.0, agent.stopped_until - self._now) + 0.01

        def arrive() -> None:
            if rank.peer == peer and peer in agent.peers and agent.is_up:
                for line in lines:
                    agent.take(rank, line)
                self._send(agent)

        if lines:
            self._after(delay, arrive)

    # --- agent and collector ---

    @property
    def _collector_is_up(self) -> bool:
        return self._now >= self._collector_down_until

    def _send(self, agent: ScheduledAgent) -> None:
        """Send what the agent has for the collector."""
        if agent.has_stream:
            for message in agent.desk.outbox.take():
                core = self.core
                self._after(self._delay(), lambda message=message, core=core: self._to_core(agent, message, core))  # type: ignore[misc]  # bound now

    def _delay(self) -> float:
        return self._random.uniform(0.0, 0.05 if self._random.random() < 0.95 else 3.0)

    def _to_core(self, agent: ScheduledAgent, message: pb.AgentAdjust, core: AdjustmentCore) -> None:
        if core is not self.core or not self._collector_is_up:
            return
        match message.WhichOneof("kind"):
            case "able":
                self.core.able(able_rank(agent.host, message.able, self._now_ns()), self._now_ns())
            case "left":
                self.core.left(agent.host, message.left, self._now_ns())
            case "answer":
                self._take_answer(agent.host, message.answer)
        self._flush()

    def _take_answer(self, host: str, message: pb.Answer) -> None:
        if (answer := answer_of(message, self._now_ns())) is not None:
            self.core.answer(host, message, answer)

    def _second(self) -> None:
        """Let a second pass in the collector, the agents' streams and their records."""
        self._after(1.0, self._second)
        while self._unwritten and self._now - self._unwritten[0][0] > 0.05:
            self._unwritten.popleft()
        for agent in self.agents:
            is_usable = agent.is_up and self._collector_is_up and self._now >= agent.stopped_until
            if is_usable and not agent.has_stream and self._random.random() < 0.5:
                agent.has_stream = True
                agent.desk.begin_stream(lambda: None)
            agent.spool += agent.desk.take_outcomes() if agent.is_up and self._now >= agent.stopped_until else ()
            while is_usable and agent.spool:
                if (message := answer_of_outcome(agent.spool.popleft())) is not None:
                    self._take_answer(agent.host, message)
            self._send(agent)
        if not self._collector_is_up:
            return
        self.core.progress(RUN, StepProgress(self._step, STEP_SECONDS, self._now_ns()))
        self._measure()
        self.core.tick(self._now_ns())
        self._flush()
        self._check_second()

    def _measure(self) -> None:
        book = self._book
        if book.measured_id and book.watch is not None and self._now_ns() - book.watch.since_ns > 30 * SECOND:
            harm = "slower" if self._random.random() < 0.3 else ""
            self.core.measured(book.adjustments[book.measured_id], None, self._now_ns(), harm=harm)

    def _flush(self) -> None:
        outbox = self.core.outbox
        changed = [*outbox.changed, *(self._book.adjustments[each] for each in outbox.answered)]
        for each in changed:
            self._unwritten.append((self._now, each.id, self._stored.get(each.id)))
            self._stored[each.id] = each
        messages = outbox.messages
        outbox.changed, outbox.answered, outbox.messages, outbox.loud = [], set(), [], []
        for host, message in messages:
            agent = next(each for each in self.agents if each.host == host)
            if agent.has_stream:
                desk, late = agent.desk, max(0.0, agent.stopped_until - self._now)
                self._after(late + self._delay(), lambda a=agent, m=message, d=desk: self._to_agent(a, m, d))  # type: ignore[misc]  # bound now

    def _to_agent(self, agent: ScheduledAgent, message: pb.CollectorAdjust, desk: AdjustmentDesk) -> None:
        if agent.is_up and agent.desk is desk:
            agent.desk.take(message)
            self._send(agent)

    def _new_core(self) -> AdjustmentCore:
        core = AdjustmentCore(SETTINGS, lambda: f"{next(self._ids):016x}")
        core.term = next(self._terms)
        return core

    # --- people, rules and faults ---

    def _person(self) -> None:
        self._after(self._random.expovariate(1 / 8.0), self._person)
        if not self._collector_is_up or not self._is_faulty:
            return
        known, now_ns = self.core.history(RUN), self._now_ns()
        action = self._random.choice(("ask", "ask", "ask", "rule", "approve", "veto", "undo", "undo", "policy"))
        name = self._random.choice(("micro_batch", "workers", "throttle"))
        to = self._random.choice((0, 1) if name == "throttle" else CHOICES)
        one = self._random.choice(known) if known else None
        try:
            if action == "ask":
                self.core.by_person(RUN, name, to, "alice", "", now_ns)
            elif action == "rule":
                self.core.by_rule(proposal(to, name=name, lever=name, value_from=None, safety=2), now_ns)
            elif action == "policy":
                policy = self._random.choice(("auto", "auto", "ask", "off"))
                self.core.set_policy(PolicyChoice(run=RUN, policy=policy, who="bob", time_ns=now_ns))
            elif one is not None:
                getattr(self.core, action)(one, "bob", "", now_ns)
        except NotPossible:
            pass
        self._flush()

    def _fault(self) -> None:
        if not self._is_faulty:
            return
        self._after(self._random.expovariate(1 / self._fault_seconds), self._fault)
        self._fault_at = self._now
        self.result.kills += 1
        kinds = (self._kill_agent, self._kill_agent, self._stop_agent, self._kill_collector, self._kill_collector)
        self._random.choice((*kinds, self._lose_stream, self._kill_job))()

    def _kill_agent(self) -> None:
        agent = self._random.choice(self.agents)
        agent.is_up, agent.peers = False, {}
        self._lose(agent)
        self._after(self._random.choice((0.5, 5.0, 40.0)), lambda: None if agent.is_up else agent.start())

    def _stop_agent(self) -> None:
        agent = self._random.choice(self.agents)
        agent.stopped_until = self._now + self._random.uniform(1.0, 60.0)

    def _lose_stream(self) -> None:
        self._lose(self._random.choice(self.agents))

    def _lose(self, agent: ScheduledAgent) -> None:
        agent.has_stream = False
        agent.desk.outbox.end_stream()
        if self._collector_is_up:
            self.core.host_lost(agent.host, self._now_ns())
            self._flush()

    def _kill_collector(self) -> None:
        """Kill it. What was changed in the last moments may not have been written."""
        self._collector_down_until = self._now + self._random.choice((1.0, 10.0, 100.0))
        while self._unwritten:
            at, name, before = self._unwritten.pop()
            if self._now - at <= 0.05:
                self._stored.pop(name)
                self._stored |= {} if before is None else {name: before}
        for agent in self.agents:
            agent.has_stream = False
            agent.desk.outbox.end_stream()
        self.core = self._new_core()
        until = self._collector_down_until
        self._after(until - self._now, lambda: self._load() if self._collector_down_until == until else None)

    def _load(self) -> None:
        order = sorted(self._stored.values(), key=lambda each: (each.created_ns, each.id))
        self.core.load(order, [], self._now_ns())
        self._flush()

    def _kill_job(self) -> None:
        """Kill a rank: its launcher restarts all of them."""
        self._attempt += 1
        for agent in self.agents:
            for peer in list(agent.peers):
                agent.peers.pop(peer)
                agent.desk.left(peer)
            self._send(agent)
        self._restart_job()

    # --- checks ---

    def _check_second(self) -> None:
        book = self._book
        under_way = [each for each in book.adjustments.values() if each.state in ("offered", "committed")]
        if len([each for each in under_way if each.id not in book.waiting]) > 1:
            self.result.faults.append(f"two changes are under way at {self._now:.0f} s")
        for name in ("micro_batch", "workers", "throttle"):
            if not book.why_busy(name) or name not in self._free_since:
                self._free_since[name] = self._now
            since = max(self._free_since[name], self._epoch_at if name == "workers" else 0.0, self._fault_at)
            self.result.longest_blocked_seconds = max(self.result.longest_blocked_seconds, self._now - since)

    def _check_end(self) -> None:
        book, faults = self._book, self.result.faults
        faults += [f"{each} is stored and not known" for each in self._stored if each not in book.adjustments]
        open_ = [each for each in book.adjustments.values() if each.state in IN_PROGRESS]
        faults += [f"{each.id} of {each.name} is still {each.state}: {each.decisions[-1]}" for each in open_]
        faults += [f"{each} is still to be taken back" for each in book.take_backs]
        for name in ("micro_batch", "workers", "throttle"):
            values = {rank.values[name].now for rank in self.ranks}
            if len(values) != 1:
                faults.append(f"ranks differ in {name}: {values}")
            elif (known := self.core.ables.run(RUN)) is None or {v.value for v in known.of(name).values()} != values:
                faults.append(f"the collector does not know {name} = {values}")
        if any(each.id in self._stored and self._stored[each.id] != each for each in book.adjustments.values()):
            faults.append("the store differs from the memory")
        if max(len(process.offers) for agent in self.agents for process in agent.desk._able.values()) > 64:
            faults.append("an agent remembers too many offers")
