"""The core of the governor: what ranks, people, rules and measurements bring about. No clock, no I/O, no randomness."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import msgspec

from flyball_collector.adjustments.adjustment import Adjustment, AdjustmentState, MeasuredEffect, RankAnswer, Value
from flyball_collector.adjustments.core.book import FollowUps, PolicyChoice, RankPlace, RunBook, Watch
from flyball_collector.adjustments.core.flights import Flights
from flyball_collector.adjustments.core.policy import policy_in_force
from flyball_collector.adjustments.core.proposals import Proposals
from flyball_collector.adjustments.core.take_backs import REPAIR, ROLL_BACK, UNDO, TakeBacks
from flyball_collector.adjustments.core.timing import StepProgress
from flyball_collector.adjustments.declared.ranks import AbleRank, AbleRuns
from flyball_collector.adjustments.limits import AT_ONCE
from flyball_collector.adjustments.proposal import Proposal
from flyball_collector.adjustments.settings import AdjustmentsSettings
from flyball_proto.v1 import adjust_pb2 as pb

FORGET_EVERY_SECONDS = 30.0

_SECOND = 10**9
_IN_FLIGHT = frozenset({AdjustmentState.OFFERED, AdjustmentState.COMMITTED})
_CHANGED_MEANWHILE = "another change was made before its effect was measured"


class AdjustmentCore:
    """All runs. Each method takes one event; what follows is in `outbox`, which the caller empties."""

    def __init__(self, settings: AdjustmentsSettings, new_id: Callable[[], str]) -> None:
        self.ables = AbleRuns()
        self.outbox = FollowUps()
        self.books: dict[str, RunBook] = {}
        self._settings = settings
        self._flights = Flights(self.outbox, self._applied, self._not_applied)
        self._take_backs = TakeBacks(self.outbox, self.ables, self._flights, new_id)
        self._proposals = Proposals(settings, self.outbox, self.ables, self._flights, self._take_backs, new_id)
        self._forgot_ns = 0

    @property
    def term(self) -> int:
        """Return the fencing token of the messages."""
        return self._flights.term

    @term.setter
    def term(self, term: int) -> None:
        self._flights.term = term

    # --- reading ---

    def policy(self, run: str) -> str:
        """Return the policy in force. Where no rank declares values, it is that of a person, or `off`."""
        values, book = self.ables.run(run), self.books.get(run)
        chosen = book.choice.policy if book is not None and book.choice is not None else None
        if values is None and chosen is None:
            return "off"
        return policy_in_force(self._settings, values.policy if values is not None else "ask", chosen)

    def history(self, run: str) -> list[Adjustment]:
        """Return the adjustments of a run, the newest first."""
        book = self.books.get(run)
        return list(book.newest_first()) if book is not None else []

    # --- what was stored ---

    def load(self, adjustments: Sequence[Adjustment], choices: Sequence[PolicyChoice], now_ns: int) -> None:
        """Take what was stored before a restart, the oldest adjustments first. What was in progress goes on."""
        for adjustment in adjustments:
            book = self._book(adjustment.run)
            if adjustment.id in book.adjustments:
                continue
            book.adjustments[adjustment.id] = adjustment
            if self.ables.run(adjustment.run) is None:
                book.gone_ns = now_ns  # until its ranks declare themselves
            if adjustment.state in _IN_FLIGHT:
                self._flights.recover(book, adjustment, now_ns)
            elif adjustment.state is AdjustmentState.APPLIED and not adjustment.inverse and book.watch is None:
                book.watch = Watch(adjustment.id, now_ns)
        for book in self.books.values():
            self._recover_take_back(book, now_ns)
        for choice in choices:
            self._book(choice.run).choice = choice

    def _recover_take_back(self, book: RunBook, now_ns: int) -> None:
        """Go on with taking back what was being taken back before a restart."""
        for flight in book.flights:
            self._take_backs.resume(book, book.adjustments[flight.id])
        for adjustment in book.in_state(AdjustmentState.APPLIED):
            if _is_undo(book.adjustments.get(adjustment.inverse)):
                book.watch = book.watch or Watch(adjustment.id, now_ns)
            elif adjustment.inverse and adjustment.id not in book.take_backs:
                self._take_backs.resume_ended(book, adjustment, now_ns)
        for adjustment in book.in_state(AdjustmentState.FAILED):
            self._take_backs.resume_repair(book, adjustment)

    # --- ranks ---

    def able(self, rank: AbleRank, now_ns: int) -> bool:
        """Take the declaration of a rank. Return False if it is not taken."""
        before, known = self.ables.newest(rank.run), self.ables.rank(rank.run, rank.rank)
        if not self.ables.put(rank):
            return False
        book = self._book(rank.run)
        book.gone_ns = None
        if book.began_again(rank, before, known):
            self._run_over(book, now_ns, "the run was restarted")
        self._flights.able(book, rank, now_ns, is_back=known is None)
        return True

    def left(self, host: str, message: pb.Left, now_ns: int) -> bool:
        """Note that a process has left its run."""
        was_known = self.ables.left(host, message)
        book = self._book(message.run)
        place = RankPlace(host, message.pid)
        if not was_known and not any(each.places.get(message.rank) == place for each in book.flights):
            return False  # of another process; one whose host had no stream meanwhile is not known, but was asked
        book.departed[message.rank] = place
        self._check_gone(book, now_ns)
        self._flights.left(book, message.rank, now_ns)
        if self.ables.run(message.run) is None:
            self._proposals.run_left(book, now_ns)
        return True

    def host_lost(self, host: str, now_ns: int) -> None:
        """Note that a host's stream has ended. Its ranks may come back; until then they cannot be asked."""
        for run in dict.fromkeys(rank.run for rank in self.ables.host_lost(host)):
            self._check_gone(self._book(run), now_ns)

    def answer(self, host: str, message: pb.Answer, answer: RankAnswer) -> bool:
        """Take an answer. Return False if it belongs to no adjustment, or to another process."""
        book = self.books.get(message.run)
        adjustment = book.adjustments.get(message.id) if book is not None else None
        if book is None or adjustment is None or adjustment.attempt != message.attempt:
            return False
        return self._flights.take(book, adjustment, host, message.rank, message.pid, answer)

    def progress(self, run: str, progress: StepProgress) -> None:
        """Note how far a run is."""
        if (book := self.books.get(run)) is not None:
            book.progress = progress

    # --- time ---

    def tick(self, now_ns: int) -> None:
        """Let time pass: what nobody answers ends, and what must be taken back is tried again."""
        if not 0 <= now_ns - self._forgot_ns < FORGET_EVERY_SECONDS * _SECOND:
            self._forgot_ns = now_ns
            for rank in self.ables.forget_old(now_ns):
                self._check_gone(self._book(rank.run), now_ns)
        for book in self.books.values():
            self._flights.tick(book, now_ns)
            self._take_backs.tick(book, now_ns)
            self._proposals.expire(book, now_ns)
            if book.gone_for_long(now_ns):
                reason = "the run ended while its effect was measured"
                self._end_watch(book, AdjustmentState.WITHDRAWN, now_ns, reason)

    # --- rules and people. Methods for people raise NotPossible ---

    def why_not(self, proposal: Proposal, now_ns: int) -> str:
        """Return why a rule must not change this now; empty if it may."""
        return self._proposals.why_not(self._book(proposal.run), proposal, self.policy(proposal.run), now_ns)

    def by_rule(self, proposal: Proposal, now_ns: int) -> Adjustment | None:
        """Offer what a rule proposes, or keep it for a person, as the policy demands. Return None if neither can be."""
        return self._proposals.by_rule(self._book(proposal.run), proposal, self.policy(proposal.run), now_ns)

    def reason_gone(self, run: str, names: Sequence[str], now_ns: int) -> None:
        """Withdraw proposals of rules for values that no rule proposes to change any more."""
        if (book := self.books.get(run)) is not None:
            self._proposals.reason_gone(book, names, now_ns)

    def by_person(self, run: str, name: str, to: Value, who: str, why: str, now_ns: int) -> Adjustment:
        """Offer what a person asks for."""
        return self._proposals.by_person(self._book(run), name, to, who, why, now_ns)

    def approve(self, adjustment: Adjustment, who: str, why: str, now_ns: int) -> Adjustment:
        """Offer a proposed adjustment."""
        return self._proposals.approve(self._book(adjustment.run), adjustment, who, why, now_ns)

    def veto(self, adjustment: Adjustment, who: str, why: str, now_ns: int) -> Adjustment:
        """End an adjustment that was not applied."""
        return self._proposals.veto(self._book(adjustment.run), adjustment, who, why, now_ns)

    def undo(self, adjustment: Adjustment, who: str, why: str, now_ns: int) -> Adjustment:
        """Offer the inverse of an adjustment that was applied. Return the inverse."""
        return self._take_backs.undo(self._book(adjustment.run), adjustment, who, why, now_ns)

    def set_policy(self, choice: PolicyChoice) -> str:
        """Set the policy of a run. Return what is in force. `off` vetoes what waits for approval or was offered."""
        book = self._book(choice.run)
        book.choice = choice
        if choice.policy == "off":
            reason = f"{choice.who} set the policy of the run to off"
            for each in book.in_state(AdjustmentState.PROPOSED):
                self.outbox.finish(book, each, AdjustmentState.VETOED, choice.time_ns, reason, who=choice.who)
            flying = book.in_flight
            if flying is not None and flying.state is AdjustmentState.OFFERED and not flying.inverse_of:
                self._flights.end(book, flying, AdjustmentState.VETOED, choice.time_ns, reason, who=choice.who)
        return self.policy(choice.run)

    # --- measurements ---

    def measured(
        self, adjustment: Adjustment, effect: MeasuredEffect | None, now_ns: int, *, harm: str = "", note: str = ""
    ) -> None:
        """End the watch: keep the change, or take it back because of the harm that it did.

        While a person undoes it, the watch goes on: the undo ends it, unless the ranks refuse.
        """
        book = self._book(adjustment.run)
        if book.watch is None or book.watch.id != adjustment.id:
            return
        if adjustment.id in book.take_backs:
            return
        measured = msgspec.structs.replace(book.adjustments[adjustment.id], effect=effect)
        book.watch = None
        if harm:
            decided = self.outbox.change(book, measured, now_ns, "decide_roll_back", why=harm, reason=harm)
            self._take_backs.begin(book, decided, ROLL_BACK, harm, now_ns)
        else:
            self.outbox.finish(book, measured, AdjustmentState.KEPT, now_ns, note, what="keep")

    # --- helpers ---

    def _book(self, run: str) -> RunBook:
        return self.books.setdefault(run, RunBook(run))

    def _check_gone(self, book: RunBook, now_ns: int) -> None:
        if self.ables.run(book.run) is None and book.gone_ns is None:
            book.gone_ns = now_ns

    def _run_over(self, book: RunBook, now_ns: int, reason: str) -> None:
        """End what was in progress in an attempt that is over: its ranks begin again with their own values."""
        book.progress = None
        book.departed.clear()
        watched = book.watched
        for back in list(book.take_backs.values()):
            self._take_backs.end(book, back, now_ns, f"{back.why}; {reason}")
        for flight in book.flights:
            self._flights.end(book, book.adjustments[flight.id], AdjustmentState.WITHDRAWN, now_ns, reason)
        if watched is not None and book.watch is not None:
            survived = self.outbox.change(book, watched, now_ns, "not_survived", why=reason)
            book.watch = None
            text = f"{reason} while its effect was measured"
            self.outbox.finish(book, survived, AdjustmentState.WITHDRAWN, now_ns, text)

    def _end_watch(self, book: RunBook, state: AdjustmentState, now_ns: int, reason: str) -> None:
        watched, book.watch = book.watched, None
        if watched is not None:
            what = "keep" if state is AdjustmentState.KEPT else ""
            self.outbox.finish(book, watched, state, now_ns, reason, what=what)

    def _applied(self, book: RunBook, adjustment: Adjustment, now_ns: int) -> None:
        """Begin to measure the effect of an adjustment that all ranks have applied."""
        for rank in range(adjustment.ranks):
            self.ables.set_value(book.run, rank, adjustment.name, adjustment.to_of(rank), adjustment.at_step)
        if book.progress is not None:
            book.progress = replace(book.progress, settled=False)
        applied = self.outbox.change(book, adjustment, now_ns, "applied", state=AdjustmentState.APPLIED)
        if adjustment.inverse_of:
            self.outbox.finish(book, applied, AdjustmentState.KEPT, now_ns, "", what="keep")
            self._take_backs.applied(book, adjustment, now_ns)
            if adjustment.lever not in AT_ONCE:
                self._end_watch(book, AdjustmentState.KEPT, now_ns, _CHANGED_MEANWHILE)
            return
        self._take_backs.replaced(book, adjustment, now_ns)
        if adjustment.when == "restart":
            self.outbox.finish(book, applied, AdjustmentState.KEPT, now_ns, "kept for the next start", what="keep")
        elif adjustment.lever in AT_ONCE:
            self.outbox.finish(book, applied, AdjustmentState.KEPT, now_ns, "its effect is not measured", what="keep")
        else:
            self._end_watch(book, AdjustmentState.KEPT, now_ns, _CHANGED_MEANWHILE)
            book.watch = Watch(adjustment.id, now_ns)
            self.outbox.changed.append(applied)  # with the reports before it, now that it is watched

    def _not_applied(self, book: RunBook, adjustment: Adjustment, now_ns: int) -> None:
        """Go on after an offer that was not applied, or only by some ranks."""
        is_withdrawn = adjustment.state is AdjustmentState.WITHDRAWN  # then the ranks that answered may have gone
        for rank, answer in adjustment.answers.items():
            if answer.observed is not None and not is_withdrawn:
                self.ables.set_value(book.run, int(rank), adjustment.name, answer.observed, answer.step)
        if adjustment.inverse_of:
            self._take_backs.not_applied(book, adjustment, now_ns)
        elif adjustment.state is AdjustmentState.FAILED and not book.is_repaired(adjustment.name):
            self._take_backs.begin(book, adjustment, REPAIR, adjustment.reason, now_ns)


def _is_undo(inverse: Adjustment | None) -> bool:
    """Return True if a person wanted an inverse, and it has not split the ranks: until then the change is measured."""
    if inverse is None or inverse.state is AdjustmentState.FAILED:
        return False
    return [each.what for each in inverse.decisions[:1]] == [UNDO]
