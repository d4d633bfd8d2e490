"""Offers under way, from the offer to the last word of every rank. What follows from them goes into the outbox."""

from collections.abc import Callable
from dataclasses import dataclass

import msgspec

from flyball_collector.adjustments.adjustment import Adjustment, AdjustmentState, RankAnswer
from flyball_collector.adjustments.core import answers
from flyball_collector.adjustments.core.answers import Outcome
from flyball_collector.adjustments.core.book import Flight, FollowUps, RankPlace, RunBook
from flyball_collector.adjustments.core.offer_checks import EPOCH, Checked, NotPossible
from flyball_collector.adjustments.core.offer_messages import commit_message, offer_message, withdraw_message
from flyball_collector.adjustments.core.rank_outcomes import shown_answer, some_ranks, split_reason, unchanged_reason
from flyball_collector.adjustments.core.timing import first_step, prepare_seconds
from flyball_collector.adjustments.declared.ranks import AbleRank, RunValues
from flyball_collector.adjustments.limits import GOVERNOR
from flyball_collector.adjustments.values import same_value

RECOVER_SECONDS = 90.0
"""After a restart of the collector, and after its step has passed: a rank declares its values every 30 s, and so shows
what it has done even if its answer was lost."""

WITHDRAW_EVERY_SECONDS = 2.0
COMMIT_AGAIN_SECONDS = 3600.0
"""To a rank that waits for an epoch: if it has given up and that answer was lost, it repeats it. Declarations show only
that its value is the old one, and nothing else would end the wait."""

ANSWER_SECONDS, ANSWER_STEPS = 15.0, 4
"""After a restart, until a rank has answered: a rank reads its socket each second or after each step, and answers a
withdrawal with what it has done. When all ranks are back and one of them has answered none in this time, that one never
had the offer, and so it was not committed."""

_SECOND = 10**9
_NEVER_COMMITTED = frozenset({AdjustmentState.VETOED, AdjustmentState.ABORTED, AdjustmentState.EXPIRED})

Ended = Callable[[RunBook, Adjustment, int], None]


@dataclass(slots=True)
class Flights:
    """Offers of all runs. `applied` and `not_applied` are called when one has ended."""

    outbox: FollowUps
    applied: Ended
    not_applied: Ended
    term: int = 0

    def offer(
        self, book: RunBook, adjustment: Adjustment, values: RunValues | None, checked: Checked, now_ns: int
    ) -> Adjustment:
        """Offer an adjustment to all ranks. Raise `NotPossible` if that cannot be done now."""
        if values is None:
            raise NotPossible(f"no rank of run {book.run!r} declares adjustable values")
        if busy := book.why_busy(adjustment.name):
            raise NotPossible(busy)
        progress = book.progress_of(values)
        at_step = first_step(progress, now_ns)
        if at_step is None or progress.step_seconds is None:
            raise NotPossible("the duration of a step is not known yet; try again when the run has made some steps")
        seconds = prepare_seconds(progress.step_seconds)
        book.flight = Flight(
            adjustment.id,
            now_ns,
            now_ns + int(seconds * _SECOND),
            {rank.rank: RankPlace(rank.host, rank.pid) for rank in values.ranks},
            frozenset(
                rank
                for rank, each in values.of(adjustment.name).items()
                if same_value(each.value, adjustment.to_of(rank))
            ),
            agreeing=values.register != "none",
        )
        offered = self.outbox.change(
            book,
            adjustment,
            now_ns,
            "offer",
            state=AdjustmentState.OFFERED,
            value_from=checked.value_from,
            values_from=checked.values_from,
            attempt=values.attempt,
            hosts=values.hosts,
            ranks=values.world_size,
            at_step=at_step,
            term=self.term,
        )
        for host in offered.hosts:
            self.outbox.send((host,), offer_message(offered, seconds, _ranks_of(book.flight, host)))
        return offered

    def take(self, book: RunBook, adjustment: Adjustment, host: str, rank: int, pid: int, answer: RankAnswer) -> bool:
        """Take the answer of a rank. Return False if it is not from the process that has to answer."""
        flight = book.flight_of(adjustment.id)
        if not 0 <= rank < adjustment.ranks or host not in adjustment.hosts:
            return False
        if flight is None:
            return self._take_late(book, adjustment, rank, answer)
        if answer.verdict == answers.REFUSED and not pid:  # the agent's own refusal, for all ranks of the host
            rank = next((each for each, place in flight.places.items() if place.host == host), rank)
        elif (place := flight.places.get(rank)) is not None and place != RankPlace(host, pid):
            return False
        self._note(book, flight, adjustment, rank, answer)
        return True

    def able(self, book: RunBook, rank: AbleRank, now_ns: int, *, is_back: bool = False) -> None:
        """Take what a rank declares while offers are under way: it may show what became of them, or need them again.

        `is_back`: its host had no stream before, so an answer may have been lost with its agent.
        """
        for flight in book.flights:
            if is_back:
                flight.committed_ns[rank.rank] = 0
            self._able(book, flight, book.adjustments[flight.id], rank, now_ns)

    def left(self, book: RunBook, rank: int, now_ns: int) -> None:
        """Take that a rank has left its run."""
        for flight in book.flights:
            adjustment = book.adjustments[flight.id]
            if adjustment.state is AdjustmentState.OFFERED and not flight.recovering:
                self.end(book, adjustment, AdjustmentState.WITHDRAWN, now_ns, f"rank {rank} has left the run")
            elif book.gone_ns is not None:
                reason = "the run ended before all ranks reported what they did"
                self.end(book, adjustment, AdjustmentState.WITHDRAWN, now_ns, reason)

    def _able(self, book: RunBook, flight: Flight, adjustment: Adjustment, rank: AbleRank, now_ns: int) -> None:
        flight.one_decides = flight.one_decides or rank.register != "none"
        if rank.rank not in flight.had_it and (answer := shown_answer(adjustment, flight, rank, now_ns)) is not None:
            self._note(book, flight, adjustment, rank.rank, answer)
            return
        known = adjustment.answers.get(str(rank.rank))
        if flight.recovering:
            _expect_answers(flight, adjustment, rank, now_ns)
            self._withdraw_again((rank.host,), adjustment)
        elif adjustment.state is AdjustmentState.COMMITTED and known is not None and known.verdict == answers.PREPARED:
            has_decided = rank.step > adjustment.at_step + 1 and now_ns > flight.prepare_by_ns
            if not has_decided or (adjustment.when == EPOCH and _is_due_again(flight, rank.rank, now_ns)):
                flight.committed_ns[rank.rank] = now_ns
                self.outbox.send((rank.host,), commit_message(self._of_this_term(adjustment)))
        elif adjustment.state is AdjustmentState.OFFERED and known is None:
            left = (flight.prepare_by_ns - now_ns) / _SECOND
            ranks = _ranks_of(flight, rank.host)
            self.outbox.send((rank.host,), offer_message(adjustment, max(1.0, left), ranks))

    def end(
        self,
        book: RunBook,
        adjustment: Adjustment,
        state: AdjustmentState,
        now_ns: int,
        reason: str,
        *,
        who: str = GOVERNOR,
        what: str = "",
    ) -> None:
        """End an offer that was not applied: withdraw it from all ranks."""
        book.land(adjustment.id)
        ended = self.outbox.finish(book, adjustment, state, now_ns, reason, who=who, what=what)
        self.outbox.send(ended.hosts, withdraw_message(self._of_this_term(ended), reason))
        self.not_applied(book, ended, now_ns)

    def tick(self, book: RunBook, now_ns: int) -> None:
        """End what takes too long."""
        if book.gone_for_long(now_ns):
            for each in book.flights:
                reason = "the run no longer declares values"
                self.end(book, book.adjustments[each.id], AdjustmentState.WITHDRAWN, now_ns, reason)
        flight, adjustment = book.flight, book.in_flight
        if flight is None or adjustment is None:
            return
        if adjustment.state is AdjustmentState.OFFERED and now_ns > flight.prepare_by_ns:
            if flight.recovering:
                self._end_by_what_is_known(book, adjustment, now_ns)
            else:
                unanswered = [rank for rank in range(adjustment.ranks) if str(rank) not in adjustment.answers]
                reason = f"no answer in time of {some_ranks(unanswered)}"
                self.end(book, adjustment, AdjustmentState.EXPIRED, now_ns, reason)
        elif flight.recovering and now_ns - flight.asked_ns >= WITHDRAW_EVERY_SECONDS * _SECOND:
            flight.asked_ns = now_ns
            self._withdraw_again(adjustment.hosts, adjustment)
        elif adjustment.state is AdjustmentState.COMMITTED and adjustment.when == EPOCH:
            _let_wait(book, flight, adjustment)
        elif adjustment.state is AdjustmentState.COMMITTED:
            self._watch_step(book, flight, adjustment, now_ns)

    def recover(self, book: RunBook, adjustment: Adjustment, now_ns: int) -> None:
        """Go on with an offer from before a restart of the collector. It may have been committed at the last moment.

        Only one is in progress in a run. If two are stored as such, the end of the older one was not stored.
        """
        recovering = adjustment.state is AdjustmentState.OFFERED
        until = now_ns + int(RECOVER_SECONDS * _SECOND)
        flight = Flight(adjustment.id, now_ns, until, recovering=recovering)
        if adjustment.state is AdjustmentState.COMMITTED and adjustment.when == EPOCH:
            book.waiting[adjustment.id] = flight
            return
        known = book.in_flight
        if known is None or _offered_ns(known) <= _offered_ns(adjustment):
            book.flight = flight
        older = adjustment if known is not None and book.flight is not flight else known
        if older is not None:
            reason = "the collector restarted, and a later change was in progress"
            self.end(book, older, AdjustmentState.WITHDRAWN, now_ns, reason)

    def _note(self, book: RunBook, flight: Flight, adjustment: Adjustment, rank: int, answer: RankAnswer) -> None:
        updated = answers.with_answer(adjustment, rank, answer)
        if updated is None:
            return
        updated = self.outbox.put_answer(book, msgspec.structs.replace(updated, changed_ns=answer.time_ns))
        if flight.recovering:
            self._settle_recovered(book, flight, updated, answer.time_ns)
        else:
            committed = updated.state is AdjustmentState.COMMITTED
            self._settle(book, updated, answers.outcome(updated, committed=committed), answer.time_ns)

    def _settle_recovered(self, book: RunBook, flight: Flight, adjustment: Adjustment, now_ns: int) -> None:
        """Settle an offer of which only the ranks know whether it was committed.

        Where the ranks obey one decision, the first last word is that of all. If it is that the change was made, the
        offer was committed, and the others report it too.
        """
        known = answers.outcome(adjustment, committed=True)
        if known is Outcome.WAITING and flight.one_decides:
            known = answers.of_known(adjustment)
            if known is Outcome.APPLIED:
                flight.recovering = False
                reason = "a rank has applied it: it was committed before the collector restarted"
                self.outbox.change(book, adjustment, now_ns, "commit", why=reason, state=AdjustmentState.COMMITTED)
                return
        self._settle(book, adjustment, known, now_ns)

    def _withdraw_again(self, hosts: tuple[str, ...], adjustment: Adjustment) -> None:
        """Withdraw an offer from before a restart. A rank that has decided already answers with its decision."""
        self.outbox.send(hosts, withdraw_message(self._of_this_term(adjustment), "the collector restarted"))

    def _settle(self, book: RunBook, adjustment: Adjustment, outcome: Outcome, now_ns: int) -> None:
        if outcome is Outcome.WAITING:
            return  # as after almost all answers of a large run: no reasons of thousands of ranks are put together
        against = answers.reason_against(adjustment)
        match outcome:
            case Outcome.PREPARED:
                committed = self.outbox.change(book, adjustment, now_ns, "commit", state=AdjustmentState.COMMITTED)
                self.outbox.send(committed.hosts, commit_message(committed))
            case Outcome.REFUSED:
                self.end(book, adjustment, AdjustmentState.VETOED, now_ns, against)
            case Outcome.ABORTED:
                vetoed = any(each.verdict == answers.VETO for each in adjustment.answers.values())
                state = AdjustmentState.VETOED if vetoed else AdjustmentState.ABORTED
                self.end(book, adjustment, state, now_ns, against or unchanged_reason(adjustment))
            case Outcome.APPLIED:
                book.land(adjustment.id)
                self.applied(book, adjustment, now_ns)
            case Outcome.SPLIT:
                self._fail(book, adjustment, now_ns, split_reason(adjustment))

    def _fail(self, book: RunBook, adjustment: Adjustment, now_ns: int, reason: str) -> None:
        flight = book.land(adjustment.id)
        failed = self.outbox.finish(book, adjustment, AdjustmentState.FAILED, now_ns, reason, what="fail")
        if flight is None or flight.agreeing:
            self.outbox.loud.append(failed)
        self.not_applied(book, failed, now_ns)

    def _take_late(self, book: RunBook, adjustment: Adjustment, rank: int, answer: RankAnswer) -> bool:
        """Take an answer about an adjustment that is not under way. Only one that was applied after its end matters."""
        nobody_may = adjustment.state in _NEVER_COMMITTED and not any(
            each.what == "commit" or "restarted" in each.why for each in adjustment.decisions
        )
        is_applied = answer.verdict == answers.APPLIED and answer.observed is not None
        if nobody_may and is_applied and same_value(answer.observed, adjustment.to_of(rank)):
            updated = answers.with_answer(adjustment, rank, answer) or adjustment
            reason = f"rank {rank} applied it although it was not committed"
            failed = self.outbox.finish(book, updated, AdjustmentState.FAILED, answer.time_ns, reason, what="fail")
            self.outbox.loud.append(failed)
        return True

    def _watch_step(self, book: RunBook, flight: Flight, adjustment: Adjustment, now_ns: int) -> None:
        """End a committed adjustment whose step has passed for long, by the answers that have come."""
        progress = book.progress
        if progress is None or progress.step <= adjustment.at_step + 1:
            flight.overdue_ns = None
        elif flight.overdue_ns is None:
            flight.overdue_ns = now_ns
        elif now_ns - flight.overdue_ns > RECOVER_SECONDS * _SECOND:
            self._end_by_what_is_known(book, adjustment, now_ns)

    def _end_by_what_is_known(self, book: RunBook, adjustment: Adjustment, now_ns: int) -> None:
        outcome = answers.of_known(adjustment)
        if outcome is Outcome.WAITING:
            if adjustment.state is AdjustmentState.OFFERED:
                reason = "the collector was restarted while it was offered"
                self.end(book, adjustment, AdjustmentState.EXPIRED, now_ns, reason)
            else:
                reason = f"no word after its step of {some_ranks(answers.missing_ranks(adjustment))}"
                self.end(book, adjustment, AdjustmentState.WITHDRAWN, now_ns, reason)
        else:
            self._settle(book, adjustment, outcome, now_ns)

    def _of_this_term(self, adjustment: Adjustment) -> Adjustment:
        return msgspec.structs.replace(adjustment, term=self.term)


def _let_wait(book: RunBook, flight: Flight, adjustment: Adjustment) -> None:
    """Let a change wait for its epoch once its step has passed. An epoch may last for days; other changes go on."""
    if book.progress is not None and book.progress.step > adjustment.at_step + 1:
        book.flight = None
        book.waiting[adjustment.id] = flight


def _is_due_again(flight: Flight, rank: int, now_ns: int) -> bool:
    last_ns = flight.committed_ns.get(rank, flight.since_ns)
    return now_ns - last_ns >= COMMIT_AGAIN_SECONDS * _SECOND


def _offered_ns(adjustment: Adjustment) -> int:
    """Return when an adjustment was offered. It may have waited for a person before."""
    return next((each.time_ns for each in adjustment.decisions if each.what == "offer"), adjustment.created_ns)


def _ranks_of(flight: Flight, host: str) -> list[int]:
    """Return the ranks of a host that have to answer."""
    return [rank for rank, place in flight.places.items() if place.host == host]


def _expect_answers(flight: Flight, adjustment: Adjustment, rank: AbleRank, now_ns: int) -> None:
    """Limit how long a recovering offer waits, once all ranks are back."""
    flight.back.setdefault(rank.rank, rank.step_seconds or 0.0)
    if len(flight.back) >= adjustment.ranks:
        seconds = max(ANSWER_SECONDS, ANSWER_STEPS * max(flight.back.values()))
        flight.prepare_by_ns = min(flight.prepare_by_ns, now_ns + int(seconds * _SECOND))
