"""The governor: takes what ranks report and people decide, and keeps every adjustment. It runs on the event loop."""

import asyncio
import random
import secrets
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING
from zlib import crc32

import structlog

from flyball_collector.adjustments import archive
from flyball_collector.adjustments.adjustment import Adjustment, AdjustmentState, Value
from flyball_collector.adjustments.answer_messages import answer_of, answer_of_outcome, fault_of, fault_of_outcome
from flyball_collector.adjustments.book import PolicyChoice, RunBook
from flyball_collector.adjustments.core import AdjustmentCore
from flyball_collector.adjustments.effect_watch import EffectJudgement, EffectWatch
from flyball_collector.adjustments.governor_parts import (
    AdjustAgents,
    DocumentJournal,
    NoAdjustAgents,
    NoRules,
    ProposalSource,
)
from flyball_collector.adjustments.limits import AT_ONCE, took_effect
from flyball_collector.adjustments.memory_faults import MemoryFaults
from flyball_collector.adjustments.offer_checks import NotPossible
from flyball_collector.adjustments.rank_columns import RankColumns, RankTable
from flyball_collector.adjustments.ranks import POLICIES, RunValues, WrongDeclaration, able_rank
from flyball_collector.adjustments.run_situation import MemoryFault
from flyball_collector.adjustments.settings import AdjustmentsSettings
from flyball_collector.adjustments.timing import StepProgress
from flyball_collector.fleet.ranks import Ranks
from flyball_collector.foreign_text import one_line
from flyball_collector.store.contract import Store, StoreError
from flyball_proto.v1 import adjust_pb2 as pb
from flyball_proto.v1 import telemetry_pb2

if TYPE_CHECKING:
    from flyball_collector.timeline.entry_documents import Name, Put

_log = structlog.get_logger(__name__)

RULES_EVERY_SECONDS = 5
FORGET_EVERY_SECONDS = 30
DELETE_EVERY_SECONDS = 3600
LONGEST_WHY = 500

_SECOND = 10**9
_DAY_NS = 86_400 * _SECOND
_MAX_DELAY_SECONDS = 10.0


class AdjustmentRefused(Exception):
    """A person's request that cannot be met. The message has the reason and the remedy; `kind` is for programs."""

    def __init__(self, text: str, kind: str = "conflict") -> None:
        super().__init__(text)
        self.kind = kind  # unknown, conflict or invalid


Listener = Callable[[Adjustment], None]


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
        self.agents: AdjustAgents = NoAdjustAgents()
        self.loaded = False
        self._settings = settings
        self._store = store
        self._journal = journal
        self._ranks = RankTable(ranks)
        self._clock = clock
        self._rules = rules or NoRules()
        self._keep_ns = int(keep_days * _DAY_NS)
        self._core = AdjustmentCore(settings, new_id)
        self._effects = EffectWatch(settings.watch_steps)
        self._faults = MemoryFaults()
        self._run_of: dict[str, str] = {}
        self._listeners: list[Listener] = []
        self._followers: list[Callable[[str], object]] = []
        self._seconds = 0

    @property
    def term(self) -> int:
        """Return the fencing token: it grows with each start of the collector."""
        return self._core.term

    # --- the agents' streams ---

    def take(self, host: str, message: pb.AgentAdjust) -> str:
        """Take a message of an agent. Return what was wrong with it; empty if nothing."""
        fault = ""
        match message.WhichOneof("kind"):
            case "able":
                fault = self._take_able(host, message.able)
            case "left":
                self._core.left(host, message.left, self._clock())
            case "answer":
                fault = self._take_answer(host, message.answer)
            case "out_of_memory":
                oom = message.out_of_memory
                self._take_memory_fault(host, oom.run, oom.step, fault_of(oom, self._clock()))
        self._flush()
        return fault

    def take_outcome(self, host: str, outcome: telemetry_pb2.AdjustmentOutcome) -> None:
        """Take an outcome from a host's record: the durable way of an answer, which may come later or twice."""
        if outcome.outcome == "out_of_memory":
            self._take_memory_fault(host, outcome.run, outcome.step, fault_of_outcome(outcome, self._clock()))
        elif (answer := answer_of_outcome(outcome)) is not None:
            self._take_answer(host, answer)
            self._flush()

    def host_lost(self, host: str) -> None:
        """Note that a host's stream has ended."""
        self._core.host_lost(host, self._clock())
        self._flush()

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
        book = self._core.books.get(self._run_of.get(adjustment, ""))
        return book.adjustments.get(adjustment) if book is not None else None

    def values(self, run: str) -> RunValues | None:
        """Return the adjustable values of a run."""
        return self._core.ables.run(run)

    def runs(self) -> Sequence[str]:
        """Return the runs with adjustable values."""
        return self._core.ables.runs()

    def policy(self, run: str) -> str:
        """Return the policy of a run, under the operator's limit: off, ask or auto."""
        return self._core.policy(run)

    def tried(self, run: str) -> list[Adjustment]:
        """Return the adjustments of a run that took effect and are over, the newest first."""
        history = self._core.history(run)
        return [each for each in history if each.is_over and took_effect(each) and not each.inverse_of]

    # --- people ---

    def propose(self, run: str, name: str, to: Value, *, who: str, why: str = "") -> Adjustment:
        """Offer a change that a person asks for."""
        self._check_policy(run)
        return self._by_person(
            run, lambda now_ns: self._core.by_person(run, name, to, who, one_line(why, LONGEST_WHY), now_ns)
        )

    def approve(self, adjustment: str, who: str, why: str = "") -> Adjustment:
        """Approve a proposed adjustment: it is offered to the ranks."""
        known = self._known(adjustment)
        self._check_policy(known.run)
        return self._by_person(
            known.run, lambda now_ns: self._core.approve(known, who, one_line(why, LONGEST_WHY), now_ns)
        )

    def veto(self, adjustment: str, who: str, why: str = "") -> Adjustment:
        """End an adjustment that was not applied yet."""
        known = self._known(adjustment)
        return self._by_person(
            known.run, lambda now_ns: self._core.veto(known, who, one_line(why, LONGEST_WHY), now_ns)
        )

    def undo(self, adjustment: str, who: str, why: str = "") -> Adjustment:
        """Offer the inverse of an adjustment that was applied. Return the inverse."""
        known = self._known(adjustment)
        return self._by_person(
            known.run, lambda now_ns: self._core.undo(known, who, one_line(why, LONGEST_WHY), now_ns)
        )

    def set_policy(self, run: str, policy: str, who: str, why: str = "") -> str:
        """Set the policy of a run, and return what is in force under the operator's limit."""
        if policy not in POLICIES:
            raise AdjustmentRefused(f"{policy!r} is not a policy; choose off, ask or auto", "invalid")
        if self._core.ables.run(run) is None and run not in self._core.books:
            raise AdjustmentRefused(f"no rank of run {run!r} declares adjustable values", "unknown")
        choice = PolicyChoice(run=run, policy=policy, who=who, why=one_line(why, LONGEST_WHY), time_ns=self._clock())
        in_force = self._core.set_policy(choice)
        self._journal.add([archive.put_of_choice(choice)])
        self._flush()
        return in_force

    # --- others ---

    def on_change(self, listener: Listener) -> None:
        """Call a function with each adjustment whenever it changes."""
        self._listeners.append(listener)

    def on_effect(self, follower: Callable[[str], object]) -> None:
        """Call a function with the name of a run whenever a change has taken effect in it, also one of its own."""
        self._followers.append(follower)

    def faults(self, run: str) -> Sequence[MemoryFault]:
        """Return the times that ranks of a run ran out of memory in this attempt, the oldest first."""
        return self._faults.of(run)

    async def run(self) -> None:
        """Load what is stored; then let time pass. Run until cancelled."""
        await self.load()
        loop = asyncio.get_running_loop()
        due = loop.time()
        while True:
            for _ in self.slices(self._clock()):
                await asyncio.sleep(0)
            due = max(due + 1.0, loop.time())
            await asyncio.sleep(due - loop.time())

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
            self._take_steps(run, now_ns)
        for book in list(self._core.books.values()):
            self._judge(book, now_ns)
        self._core.tick(now_ns)
        self._flush()
        yield
        for run in self._core.ables.runs() if self.loaded else ():
            if (self._seconds + crc32(run.encode())) % RULES_EVERY_SECONDS == 0:  # not all in one second
                self._ask_rules(run, now_ns)
                self._flush()
                yield
        if self._seconds % FORGET_EVERY_SECONDS == 0:
            self._forget_runs()
        if self._seconds % DELETE_EVERY_SECONDS == 0:
            self._delete_old(now_ns)

    # --- helpers ---

    def _take_stored(self, stored: archive.StoredAdjustments) -> None:
        now_ns = self._clock()
        self._core.term = stored.term
        for adjustment in stored.adjustments:
            self._run_of[adjustment.id] = adjustment.run
            if adjustment.state is AdjustmentState.APPLIED and adjustment.id in stored.before:
                self._effects.restore(adjustment, stored.before[adjustment.id])
        self._core.load(stored.adjustments, stored.choices, now_ns)
        self.loaded = True

    def _take_able(self, host: str, message: pb.Able) -> str:
        try:
            rank = able_rank(host, message, self._clock())
        except WrongDeclaration as error:
            return f"rank {message.rank} of run {message.run[:80]!r}: {error}"
        before = self._core.ables.run(rank.run)
        taken = self._core.able(rank, self._clock())
        if taken and before is not None and (before.attempt, before.group) != (rank.attempt, rank.group):
            self._faults.forget(rank.run)
            self._rules.forget(rank.run)
        return "" if taken else f"rank {rank.rank} of run {rank.run!r} was not taken: another host or attempt has it"

    def _take_answer(self, host: str, message: pb.Answer) -> str:
        answer = answer_of(message, self._clock())
        if answer is None:
            return "an answer without a known verdict, or with a value that is not JSON"
        return (
            "" if self._core.answer(host, message, answer) else f"an answer to {message.id[:32]!r}, which was not asked"
        )

    def _take_memory_fault(self, host: str, run: str, step: int, fault: MemoryFault) -> None:
        """Take a report of a rank, only from its own host."""
        values = self._core.ables.run(run)
        if values is None or not any((each.rank, each.host) == (fault.rank, host) for each in values.ranks):
            return
        is_new = self._faults.add(run, fault)
        if is_new and fault.recovered and fault.name and fault.value_to is not None:
            self._core.ables.set_value(run, fault.rank, fault.name, fault.value_to, step)
            self._effects.changed_at(run, step)
            self._note_effect(run)

    def _take_steps(self, run: str, now_ns: int) -> None:
        columns = self._ranks.of(run, now_ns)
        if columns is not None:
            self._effects.take(run, columns)
            self._core.progress(run, self._progress(run, columns))

    def _progress(self, run: str, columns: RankColumns) -> StepProgress:
        """Return how far a run is. Right after a change of a value, the shortest known duration of a step counts."""
        step, at_ns = int(columns.step.max()), int(columns.at.max() * _SECOND)
        recent = self._effects.recent_step_seconds(run)
        if recent:
            return StepProgress(step, recent, at_ns, settled=True)
        steps = columns.steps.sum()
        known = (self._effects.last_step_seconds(run), columns.seconds.sum() / steps if steps else None)
        seconds = [float(each) for each in known if each is not None and each > 0]
        return StepProgress(step, min(seconds, default=None), at_ns)

    def _judge(self, book: RunBook, now_ns: int) -> None:
        watch, adjustment = book.watch, book.watched
        if watch is None or adjustment is None:
            return
        faults = sum(each.time_ns > watch.since_ns for each in self.faults(book.run))
        try:
            judgement = self._effects.judge(adjustment, watch.since_ns, now_ns, faults)
        except Exception as error:  # noqa: BLE001  figures of one run must not stop all others
            _log.exception("adjustment_not_measured", id=adjustment.id, run=book.run, error=repr(error))
            judgement = EffectJudgement(None, note="its effect could not be measured")
        if judgement is not None:
            self._core.measured(adjustment, judgement.effect, now_ns, harm=judgement.harm, note=judgement.note)

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
            if self._core.by_rule(proposal, now_ns) is not None:
                break

    def _forget_runs(self) -> None:
        """Forget reports and books of runs that have ended and have nothing to remember."""
        able = set(self._core.ables.runs())
        self._faults.keep_only(able)
        for run, book in list(self._core.books.items()):
            if run in able or book.watch is not None or book.flight is not None:
                continue
            self._effects.forget(run)
            self._rules.forget(run)
            if not book.adjustments and book.choice is None:
                del self._core.books[run]

    def _delete_old(self, now_ns: int) -> None:
        """Delete adjustments and policies of people that are older than the retention of the timeline."""
        before_ns = now_ns - self._keep_ns
        forgets: list[Name] = []
        for book in self._core.books.values():
            for each in [each for each in book.adjustments.values() if each.is_over and each.changed_ns < before_ns]:
                del book.adjustments[each.id]
                self._run_of.pop(each.id, None)
                forgets.append((archive.ADJUSTMENT, each.id))
            if book.choice is not None and book.choice.time_ns < before_ns and self._core.ables.run(book.run) is None:
                book.choice = None
                forgets.append((archive.POLICY, book.run))
        if forgets:
            self._journal.add((), forgets)

    def _check_policy(self, run: str) -> None:
        if self._core.policy(run) == "off":
            values = self._core.ables.run(run)
            who = "its training" if values is not None and values.policy == "off" else "the policy"
            raise AdjustmentRefused(f"{who} of run {run!r} allows no adjustments (off)")

    def _known(self, adjustment: str) -> Adjustment:
        known = self.get(adjustment)
        if known is None:
            raise AdjustmentRefused(
                f"no adjustment {adjustment[:64]!r}; list them with `flyball adjust list`", "unknown"
            )
        return known

    def _by_person(self, run: str, action: Callable[[int], Adjustment]) -> Adjustment:
        if not self.loaded:
            raise AdjustmentRefused("the collector is still loading adjustments; try again in some seconds")
        now_ns = self._clock()
        self._take_steps(run, now_ns)
        try:
            adjustment = action(now_ns)
        except NotPossible as error:
            raise AdjustmentRefused(str(error)) from None
        finally:
            self._flush()
        return self.get(adjustment.id) or adjustment

    def _flush(self) -> None:
        """Send, store and report what has followed from the last events."""
        outbox = self._core.outbox
        changed, outbox.changed = outbox.changed, []
        loud, outbox.loud = outbox.loud, []
        messages, outbox.messages = outbox.messages, []
        if changed:
            self._store_changed(changed)
        for host, message in messages:
            if not self.agents.send(host, message):
                _log.info("adjustment_message_not_sent", host=host, kind=message.WhichOneof("kind"))
        for adjustment in loud:
            _log.error(
                "adjustment_failed",
                id=adjustment.id,
                run=adjustment.run,
                name=adjustment.name,
                reason=adjustment.reason,
                remedy="look at the run's values; set them by `flyball adjust set`",
            )
        for adjustment in changed:
            for listener in self._listeners:
                listener(adjustment)

    def _note_effect(self, run: str) -> None:
        for follower in self._followers:
            follower(run)

    def _store_changed(self, changed: Sequence[Adjustment]) -> None:
        puts: list[Put] = []
        forgets: list[Name] = []
        for adjustment in changed:
            if adjustment.state is AdjustmentState.APPLIED and adjustment.decisions[-1].what == "applied":
                self._effects.changed(adjustment)
                if adjustment.lever not in AT_ONCE:  # these rest between steps, and change no step
                    self._note_effect(adjustment.run)
        for adjustment in {each.id: each for each in changed}.values():
            self._run_of[adjustment.id] = adjustment.run
            puts.append(archive.put_of(adjustment))
            book = self._core.books.get(adjustment.run)
            if book is not None and book.watch is not None and book.watch.id == adjustment.id:
                puts.append(archive.put_of_before(adjustment, self._effects.before(adjustment)))
            elif adjustment.is_over:
                forgets.append(archive.name_of_before(adjustment))
        self._journal.add(puts, forgets)
