"""Passes offers of the collector to the processes of a run, and their answers to the collector and into the record."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Protocol

import msgspec
import structlog

from flyball_agent.adjustments.able_process import AbleProcess, PassedOffer, able_of
from flyball_agent.adjustments.answers import answer_of, oom_message, oom_outcome, outcome_of, refusal_of
from flyball_agent.adjustments.checked_offer import CheckedOffer, OfferRefused, checked_offer, is_valid_id
from flyball_agent.adjustments.message_budget import MessageBudgets
from flyball_agent.adjustments.outbox import AdjustmentOutbox
from flyball_agent.clock import HostClock
from flyball_agent.runs.adjustment_messages import (
    AbleMessage,
    AdjustmentAnswer,
    AppliedMessage,
    OomMessage,
    PreparedMessage,
    VetoMessage,
)
from flyball_agent.runs.environment import clean
from flyball_agent.runs.messages import Hello, adjustments_line
from flyball_agent.runs.registry import SocketPeer
from flyball_proto.v1 import adjust_pb2 as adjust
from flyball_proto.v1 import telemetry_pb2 as pb

_log = structlog.get_logger(__name__)

BUSY_SECONDS = 60.0
"""A process gets no other offer for this long, or for twice the time in which an offer expires."""

Later = Callable[[float, Callable[[], None]], object]


class Connections(Protocol):
    """The connections of training processes."""

    def push_to(self, peer: SocketPeer, line: bytes) -> bool:
        """Send a line on one connection. Return False if its process cannot receive it now."""

    def push_to_all(self, line: bytes) -> None:
        """Send a line to every process that has sent a hello."""


class AdjustmentDesk:
    """Runs on the event loop; only `take_outcomes` may be called in another thread."""

    def __init__(
        self,
        connections: Callable[[], Connections | None],
        clock: HostClock,
        *,
        enabled: bool = False,
        now: Callable[[], float] | None = None,
        later: Later | None = None,
    ) -> None:
        self.enabled = enabled
        self.term = 0  # the highest that a collector has used
        self.changed = asyncio.Event()  # set when `enabled` changes
        self._connections = connections
        self._clock = clock
        self._now = now or asyncio.get_running_loop().time
        self._later = later or asyncio.get_running_loop().call_later
        self._able: dict[SocketPeer, AbleProcess] = {}
        self._undeclared: dict[SocketPeer, AbleProcess] = {}  # that have answered an offer of an earlier start
        self._budgets = MessageBudgets()
        self.outbox = AdjustmentOutbox(self._now)

    def switch(self, *, enabled: bool) -> None:
        """Turn adjustments on or off. Processes are informed, and open offers are withdrawn."""
        if enabled is self.enabled:
            return
        self.enabled = enabled
        if not enabled:
            self._withdraw_all()
            self._able.clear()
        connections = self._connections()
        if connections is not None:
            connections.push_to_all(adjustments_line(enabled=enabled))
        self.changed.set()
        self.changed = asyncio.Event()

    def begin_stream(self, wake: Callable[[], None]) -> None:
        """Send to a new stream from now on: the values of each rank, then the recent answers."""
        self.outbox.begin_stream(wake)
        for process in self._able.values():
            self.outbox.add(adjust.AgentAdjust(able=process.able), of=process.key)

    def take_outcomes(self) -> Sequence[pb.AdjustmentOutcome]:
        """Return the outcomes for the next record. Another thread may call it."""
        return self.outbox.take_outcomes()

    # --- processes ---

    def able(self, peer: SocketPeer, hello: Hello, message: AbleMessage) -> None:
        """Take the values that a process can change."""
        self._budgets.spend(peer, self._now())
        able = able_of(peer, hello, message)
        process = self._able.get(peer)
        if process is None or (process.able.run, process.able.rank) != (able.run, able.rank):
            process = self._able[peer] = AbleProcess(peer, able)
        process.declare(able)
        self.outbox.add(adjust.AgentAdjust(able=able), of=process.key)

    def answer(self, peer: SocketPeer, hello: Hello, message: AdjustmentAnswer) -> bool:
        """Take an answer to an offer. Return False if the process has none to answer."""
        self._budgets.spend(peer, self._now())
        process = self._able.get(peer) or self._undeclared_process(peer, hello)
        offer = process.offers.get(message.id)
        if offer is None:
            if isinstance(message, PreparedMessage | VetoMessage) or not process.accepts_unknown():
                return False  # nothing depends on it; a change that was made must become known
            offer = PassedOffer(message.id, "", "", "", 0.0)
        offer.prepared = offer.prepared or isinstance(message, PreparedMessage)
        offer.over = offer.over or not isinstance(message, PreparedMessage)
        outcome = outcome_of(process.able, message, offer, self._clock.wall_ns())
        self.outbox.add_answer(answer_of(process.able, message), outcome)
        if not isinstance(message, PreparedMessage | AppliedMessage):
            _log.info("adjustment_refused", id=message.id, run=hello.run, rank=hello.rank, reason=message.reason)
        return True

    def _undeclared_process(self, peer: SocketPeer, hello: Hello) -> AbleProcess:
        """Return a process that has not declared values yet: after a start of the agent, its answers come first."""
        of = adjust.Able(run=hello.run, attempt=hello.attempt or 0, rank=hello.rank, pid=peer.pid)
        return self._undeclared.setdefault(peer, AbleProcess(peer, of))

    def note_oom(self, peer: SocketPeer, hello: Hello, message: OomMessage) -> None:
        """Learn that a process ran out of memory."""
        self._budgets.spend(peer, self._now())
        process = self._able.get(peer)
        attempt = process.able.attempt if process is not None else hello.attempt or 0
        of = adjust.Able(run=hello.run, attempt=attempt, rank=hello.rank, pid=peer.pid)
        self.outbox.add_answer(oom_message(of, message), oom_outcome(of, message, self._clock.wall_ns()))

    def left(self, peer: SocketPeer) -> None:
        """Learn that a process has left its run."""
        self._undeclared.pop(peer, None)
        process = self._able.pop(peer, None)
        if process is not None:
            able = process.able
            left = adjust.Left(run=able.run, attempt=able.attempt, rank=able.rank, pid=able.pid)
            self.outbox.add(adjust.AgentAdjust(left=left), of=process.key)

    # --- the collector ---

    def take_welcome(self, welcome: adjust.AdjustWelcome) -> bool:
        """Return False for a collector that may no longer act: another one has a newer term."""
        if welcome.term < self.term:
            return False
        self.term = welcome.term
        return True

    def take(self, message: adjust.CollectorAdjust) -> None:
        """Take a message of the collector. Kinds of a newer version are ignored."""
        match message.WhichOneof("kind"):
            case "offer":
                self._take_offer(message.offer)
            case "commit" if self._is_current(message.commit.term):
                self._remember_earlier(message.commit)
                self._commit(message.commit.id)
            case "withdraw" if self._is_current(message.withdraw.term):
                self._remember_earlier(message.withdraw)
                self._withdraw(message.withdraw.id, clean(message.withdraw.reason.encode()))

    def _is_current(self, term: int) -> bool:
        if term < self.term:
            _log.warning("adjustment_of_older_term", term=term, newest=self.term)
            return False
        self.term = term
        return True

    def _take_offer(self, message: adjust.Offer) -> None:
        """Pass an offer to all ranks of its run on this host, or refuse it."""
        if not self.enabled:
            return self._refuse(message, "disabled")
        if not self._is_current(message.term):
            return self._refuse(message, "term")
        try:
            offer = checked_offer(message)
        except OfferRefused as refused:
            return self._refuse(message, str(refused))
        of_run = [each for each in self._able.values() if each.able.run == offer.run]
        ranks = {each.able.rank: each for each in of_run if each.able.attempt == offer.attempt}  # the newest of each
        if not ranks:
            return self._refuse(message, "attempt" if of_run else "unknown_run")
        _log.info("adjustment_offered", id=offer.id, run=offer.run, name=offer.name, ranks=sorted(ranks))
        for process in ranks.values():
            self._offer_to(process, offer)
        return None

    def _offer_to(self, process: AbleProcess, offer: CheckedOffer) -> None:
        now, rank = self._now(), process.able.rank
        value_from, value_to = offer.value_from.of(rank), offer.value_to.of(rank)
        known = process.offers.get(offer.id)
        if known is None or not known.name:  # a repeated one is passed again
            if not (value_from and value_to):  # a rank that the collector has not seen
                return self._refuse_for(process, offer, "stale")
            if reason := process.refusal(offer.name, value_to, now):
                return self._refuse_for(process, offer, reason)
            busy = max(BUSY_SECONDS, 2.0 * offer.expires_seconds)
            passed = PassedOffer(offer.id, offer.name, value_from, value_to, now + busy)
            process.remember(passed)
            self._later(offer.expires_seconds + 1.0, lambda: self._expire(process, passed))
        if not self._push(process.peer, offer.line(rank)):
            process.offers.pop(offer.id)
            return self._refuse_for(process, offer, "not_reading")
        return None

    def _expire(self, process: AbleProcess, offer: PassedOffer) -> None:
        """Note an offer that a process has not answered in time."""
        if offer.prepared or offer.over or process.offers.get(offer.id) is not offer:
            return
        offer.over = True
        able, time_ns = process.able, self._clock.wall_ns()
        self.outbox.add_outcome(refusal_of(able, offer, "expired", "no answer in time", time_ns)[1])

    def _refuse(self, message: adjust.Offer, reason: str) -> None:
        """Refuse an offer for the whole host."""
        if not is_valid_id(message.id):
            return
        of = adjust.Able(run=message.run[:200], attempt=message.attempt)
        offer = PassedOffer(message.id, message.name[:200], "", "", 0.0)
        self.outbox.add_answer(*refusal_of(of, offer, "refused", reason, self._clock.wall_ns()))
        _log.warning("adjustment_refused", id=message.id, run=message.run[:200], reason=reason)

    def _refuse_for(self, process: AbleProcess, offer: CheckedOffer, reason: str) -> None:
        rank = process.able.rank
        passed = PassedOffer(offer.id, offer.name, offer.value_from.of(rank), offer.value_to.of(rank), 0.0)
        self.outbox.add_answer(*refusal_of(process.able, passed, "refused", reason, self._clock.wall_ns()))
        _log.warning("adjustment_refused", id=offer.id, run=offer.run, rank=process.able.rank, reason=reason)

    def _remember_earlier(self, message: adjust.Commit | adjust.Withdraw) -> None:
        """Remember an offer that an earlier start of the agent passed on: a rank that has it must get its end too.

        A rank that does not know it ignores the message. One that has ended it repeats its last word.
        """
        for process in self._able.values() if is_valid_id(message.id) else ():
            of = process.able
            if (of.run, of.attempt) == (message.run, message.attempt) and message.id not in process.offers:
                process.remember(PassedOffer(message.id, "", "", "", 0.0))

    def _commit(self, adjustment: str) -> None:
        """Pass a commit on. A change may then wait for an epoch, so it does not keep other offers from the process."""
        for process in self._able.values():
            if (offer := process.offers.get(adjustment)) is not None:
                offer.committed = True
        self._pass_on(adjustment, _line(kind="commit", id=adjustment))

    def _withdraw(self, adjustment: str, reason: str) -> None:
        for process in self._able.values():
            if (offer := process.offers.get(adjustment)) is not None:
                offer.over = True
        self._pass_on(adjustment, _line(kind="withdraw", id=adjustment, reason=reason))

    def _withdraw_all(self) -> None:
        now = self._now()
        offers = {id_ for process in self._able.values() for id_, offer in process.offers.items() if offer.is_open(now)}
        for adjustment in offers:
            self._withdraw(adjustment, "adjustments were switched off on this host")

    def _pass_on(self, adjustment: str, line: bytes) -> None:
        """Send a line to the processes that have this offer."""
        for process in self._able.values():
            if adjustment in process.offers:
                self._push(process.peer, line)

    def _push(self, peer: SocketPeer, line: bytes) -> bool:
        connections = self._connections()
        return connections is not None and connections.push_to(peer, line)


def _line(**message: object) -> bytes:
    return msgspec.json.encode(message) + b"\n"
