"""The governor: takes what ranks report and people decide, and keeps every adjustment. It runs on the event loop."""

import asyncio
import random
import secrets
from collections.abc import Callable, Iterator, Sequence
from zlib import crc32

import structlog

from flyball_collector.adjustments.adjustment import Adjustment, AdjustmentState, Value
from flyball_collector.adjustments.core.book import PolicyChoice
from flyball_collector.adjustments.core.core import AdjustmentCore
from flyball_collector.adjustments.declared.ranks import RunValues
from flyball_collector.adjustments.governor import archive
from flyball_collector.adjustments.governor.delivery import Delivery, Listener
from flyball_collector.adjustments.governor.inbox import Inbox
from flyball_collector.adjustments.governor.measuring import Measuring
from flyball_collector.adjustments.governor.parts import AdjustAgents, DocumentJournal, NoRules, ProposalSource
from flyball_collector.adjustments.governor.requests import Requests
from flyball_collector.adjustments.limits import AT_ONCE, took_effect
from flyball_collector.adjustments.proposal import Proposal
from flyball_collector.adjustments.settings import AdjustmentsSettings
from flyball_collector.adjustments.situation.run_situation import MemoryFault
from flyball_collector.fleet.ranks import Ranks
from flyball_collector.store.contract import Store, StoreError
from flyball_proto.v1 import adjust_pb2 as pb
from flyball_proto.v1 import telemetry_pb2

_log = structlog.get_logger(__name__)

RULES_EVERY_SECONDS = 5
FORGET_EVERY_SECONDS = 30
DELETE_EVERY_SECONDS = 3600

_SECOND = 10**9
_DAY_NS = 86_400 * _SECOND
_MAX_DELAY_SECONDS = 10.0


class Governor:
    """All adjustments of all runs. Methods for people raise `AdjustmentRefused`."""

    def __init__(
        self,
        settings: AdjustmentsSettings,
        store: Store,
        journal: DocumentJournal,
        ranks: Ranks,
        clock: Callable[[], int],
        *,
        rules: ProposalSource | None = None,
        keep_days: float = 30.0,
        new_id: Callable[[], str] = lambda: secrets.token_hex(8),
    ) -> None:
        self.loaded = False
        self._store = store
        self._journal = journal
        self._clock = clock
        self._rules = rules or NoRules()
        self._keep_ns = int(keep_days * _DAY_NS)
        self._core = AdjustmentCore(settings, new_id)
        self._measuring = Measuring(self._core, ranks, settings.watch_steps)
        self._delivery = Delivery(self._core, journal, self._measuring.effects)
        self._inbox = Inbox(self._core, self._measuring, self._delivery, self._rules)
        self._requests = Requests(self._core, self._measuring, self._delivery, journal, clock)
        self._seconds = 0

    @property
    def agents(self) -> AdjustAgents:
        """Return the streams to agents."""
        return self._delivery.agents

    @agents.setter
    def agents(self, agents: AdjustAgents) -> None:
        self._delivery.agents = agents

    @property
    def term(self) -> int:
        """Return the fencing token: it grows with each start of the collector."""
        return self._core.term

    # --- the agents' streams ---

    def take(self, host: str, message: pb.AgentAdjust) -> str:
        """Take a message of an agent. Return what was wrong with it; empty if nothing."""
        fault = self._inbox.take(host, message, self._clock())
        self._delivery.flush()
        return fault

    def take_outcome(self, host: str, outcome: telemetry_pb2.AdjustmentOutcome) -> None:
        """Take an outcome from a host's record: the durable way of an answer, which may come later or twice."""
        self._inbox.take_outcome(host, outcome, self._clock())
        self._delivery.flush()

    def host_lost(self, host: str) -> None:
        """Note that a host's stream has ended."""
        self._core.host_lost(host, self._clock())
        self._delivery.flush()

    # --- reading ---

    def find(self, *, run: str = "", host: str = "", state: str = "", limit: int = 100) -> list[Adjustment]:
        """Return adjustments, the newest first."""
        books = [self._core.books[run]] if run in self._core.books else [] if run else self._core.books.values()
        found = [
            each
            for book in books
            for each in book.adjustments.values()
            if state in {"", each.state.value} and (not host or host in each.hosts)
        ]
        found.sort(key=lambda each: (each.created_ns, each.id), reverse=True)
        return found[:limit]

    def get(self, adjustment: str) -> Adjustment | None:
        """Return an adjustment."""
        return self._delivery.find(adjustment)

    def values(self, run: str) -> RunValues | None:
        """Return the adjustable values of a run."""
        return self._core.ables.run(run)

    def runs(self) -> Sequence[str]:
        """Return the runs with adjustable values."""
        return self._core.ables.runs()

    def policy(self, run: str) -> str:
        """Return the policy of a run, under the operator's limit: off, ask or auto."""
        return self._core.policy(run)

    def policy_choice(self, run: str) -> PolicyChoice | None:
        """Return the policy that a person has set for a run."""
        book = self._core.books.get(run)
        return book.choice if book is not None else None

    def tried(self, run: str) -> list[Adjustment]:
        """Return the adjustments of a run that took effect and are over, the newest first."""
        history = self._core.history(run)
        return [each for each in history if each.is_over and took_effect(each) and not each.inverse_of]

    # --- people ---

    def propose(self, run: str, name: str, to: Value, *, who: str, why: str = "") -> Adjustment:
        """Offer a change that a person asks for."""
        return self._requests.propose(run, name, to, who, why)

    def approve(self, adjustment: str, who: str, why: str = "") -> Adjustment:
        """Approve a proposed adjustment: it is offered to the ranks."""
        return self._requests.approve(adjustment, who, why)

    def veto(self, adjustment: str, who: str, why: str = "") -> Adjustment:
        """End an adjustment that was not applied yet."""
        return self._requests.veto(adjustment, who, why)

    def undo(self, adjustment: str, who: str, why: str = "") -> Adjustment:
        """Offer the inverse of an adjustment that was applied. Return the inverse."""
        return self._requests.undo(adjustment, who, why)

    def set_policy(self, run: str, policy: str, who: str, why: str = "") -> str:
        """Set the policy of a run, and return what is in force under the operator's limit."""
        return self._requests.set_policy(run, policy, who, why)

    # --- others ---

    def on_change(self, listener: Listener) -> None:
        """Call a function with each adjustment whenever it changes."""
        self._delivery.listeners.append(listener)

    def on_effect(self, follower: Callable[[str], object]) -> None:
        """Call a function with the name of a run whenever a change has taken effect in it, also one of its own."""
        self._delivery.followers.append(follower)

    def faults(self, run: str) -> Sequence[MemoryFault]:
        """Return the times that ranks of a run ran out of memory in this attempt, the oldest first."""
        return self._measuring.faults.of(run)

    async def run(self) -> None:
        """Load what is stored; then let time pass. Run until cancelled."""
        await self.load()
        loop = asyncio.get_running_loop()
        due = loop.time()
        try:
            while True:
                for _ in self.slices(self._clock()):
                    await asyncio.sleep(0)
                due = max(due + 1.0, loop.time())
                await asyncio.sleep(due - loop.time())
        finally:
            self._delivery.store_answers()

    async def load(self) -> None:
        """Load what is stored, and begin a new term. Nothing is offered before that."""
        wait = 0.25
        while not self.loaded:
            try:
                stored = await asyncio.to_thread(archive.load, self._store, self._clock(), self._keep_ns)
            except StoreError as error:
                _log.warning("adjustments_not_loaded", error=str(error), remedy="none needed: it is tried again")
                await asyncio.sleep(random.uniform(0.1, 1.0) * wait)  # noqa: S311  jitter, not a secret
                wait = min(2 * wait, _MAX_DELAY_SECONDS)
            else:
                self._take_stored(stored)

    def every_second(self, now_ns: int) -> None:
        """Let a second pass: measure effects, end what takes too long, and ask the rules."""
        for _ in self.slices(now_ns):
            pass

    def slices(self, now_ns: int) -> Iterator[None]:
        """Do the same in slices, between which the event loop can run."""
        self._seconds += 1
        for run in self._core.ables.runs():
            self._measuring.take_steps(run, now_ns)
        self._measuring.judge(list(self._core.books.values()), now_ns)
        self._core.tick(now_ns)
        self._delivery.flush()
        self._delivery.store_answers()
        yield
        for run in self._core.ables.runs() if self.loaded else ():
            if (self._seconds + crc32(run.encode())) % RULES_EVERY_SECONDS == 0:  # not all in one second
                self._ask_rules(run, now_ns)
                self._delivery.flush()
                yield
        if self._seconds % FORGET_EVERY_SECONDS == 0:
            self._forget_runs()
        if self._seconds % DELETE_EVERY_SECONDS == 0:
            self._delivery.delete_old(now_ns - self._keep_ns)

    # --- helpers ---

    def _take_stored(self, stored: archive.StoredAdjustments) -> None:
        now_ns = self._clock()
        self._core.term = stored.term
        for adjustment in stored.adjustments:
            self._delivery.run_of[adjustment.id] = adjustment.run
            if adjustment.state is AdjustmentState.APPLIED and adjustment.id in stored.before:
                self._measuring.effects.restore(adjustment, stored.before[adjustment.id])
        self._core.load(stored.adjustments, stored.choices, now_ns)
        self.loaded = self._requests.enabled = True

    def _ask_rules(self, run: str, now_ns: int) -> None:
        values = self._core.ables.run(run)
        if values is None or self._core.policy(run) == "off":
            return
        try:
            proposals = self._rules.proposals(values, self.faults(run), self._core.history(run), now_ns)
        except Exception as error:  # noqa: BLE001  a rule's failure must not stop what is in progress
            _log.exception("adjustment_rules_failed", run=run, error=repr(error))
            return
        if proposals is None:
            return
        self._core.reason_gone(run, [each.name for each in proposals], now_ns)
        for proposal in proposals:
            if self._can_be_recorded(proposal) and self._core.by_rule(proposal, now_ns) is not None:
                break

    def _can_be_recorded(self, proposal: Proposal) -> bool:
        """Return False for a change that stays, protects from nothing, and would be forgotten at a restart."""
        return not self._journal.failing or proposal.protects or proposal.lever in AT_ONCE

    def _forget_runs(self) -> None:
        """Forget reports and books of runs that have ended and have nothing to remember."""
        able = set(self._core.ables.runs())
        self._measuring.faults.keep_only(able)
        for run, book in list(self._core.books.items()):
            if run in able or book.watch is not None or book.flights:
                continue
            self._measuring.forget(run)
            self._rules.forget(run)
            if not book.adjustments and book.choice is None:
                del self._core.books[run]
