"""Offers under way, from the offer to the last word of every rank. What follows from them goes into the outbox."""

from collections.abc import Callable
from dataclasses import dataclass

import msgspec

from flyball_collector.adjustments import answers
from flyball_collector.adjustments.adjustment import Adjustment, AdjustmentState, RankAnswer
from flyball_collector.adjustments.answers import Outcome
from flyball_collector.adjustments.book import Flight, FollowUps, RankPlace, RunBook
from flyball_collector.adjustments.limits import GOVERNOR
from flyball_collector.adjustments.offer_checks import Checked, NotPossible
from flyball_collector.adjustments.offer_messages import commit_message, offer_message, withdraw_message
from flyball_collector.adjustments.ranks import AbleRank, RunValues
from flyball_collector.adjustments.timing import first_step, prepare_seconds
from flyball_collector.adjustments.values import same_value

RECOVER_SECONDS = 90.0
"""After a restart of the collector, and after its step has passed: a rank declares its values every 30 s, and so shows
what it has done even if its answer was lost."""

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
        if book.flight is not None:
            raise NotPossible(f"adjustment {book.flight.id} is in progress; only one at a time is offered to a run")
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
                rank for rank, each in values.of(adjustment.name).items() if same_value(each.value, adjustment.value_to)
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
            attempt=values.attempt,
            hosts=values.hosts,
            ranks=values.world_size,
            at_step=at_step,
            term=self.term,
        )
        self.outbox.send(offered.hosts, offer_message(offered, seconds))
        return offered

    def take(self, book: RunBook, adjustment: Adjustment, host: str, rank: int, pid: int, answer: RankAnswer) -> bool:
        """Take the answer of a rank. Return False if it is not from the process that has to answer."""
        flight = book.flight
        if not 0 <= rank < adjustment.ranks or host not in adjustment.hosts:
            return False
        if flight is None or flight.id != adjustment.id:
            return self._take_late(book, adjustment, rank, answer)
        if answer.verdict == answers.REFUSED and not pid:  # the agent's own refusal, for all ranks of the host
            rank = next((each for each, place in flight.places.items() if place.host == host), rank)
        elif (place := flight.places.get(rank)) is not None and place != RankPlace(host, pid):
            return False
        self._note(book, adjustment, rank, answer)
        return True

    def able(self, book: RunBook, rank: AbleRank, now_ns: int) -> None:
        """Take what a rank declares while an offer is under way: it may show what became of it, or need it again."""
        flight, adjustment = book.flight, book.in_flight
        if flight is None or adjustment is None:
            return
        if rank.rank not in flight.had_it and (answer := _shown(adjustment, flight, rank, now_ns)) is not None:
            self._note(book, adjustment, rank.rank, answer)
            return
        known = adjustment.answers.get(str(rank.rank))
        if flight.recovering:
            self.outbox.send((rank.host,), withdraw_message(self._of_this_term(adjustment), "the collector restarted"))
        elif adjustment.state is AdjustmentState.COMMITTED and known is not None and known.verdict == answers.PREPARED:
            self.outbox.send((rank.host,), commit_message(self._of_this_term(adjustment)))
        elif adjustment.state is AdjustmentState.OFFERED and known is None:
            left = (flight.prepare_by_ns - now_ns) / _SECOND
            self.outbox.send((rank.host,), offer_message(adjustment, max(1.0, left)))

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
        book.flight = None
        ended = self.outbox.finish(book, adjustment, state, now_ns, reason, who=who, what=what)
        self.outbox.send(ended.hosts, withdraw_message(self._of_this_term(ended), reason))
        self.not_applied(book, ended, now_ns)

    def tick(self, book: RunBook, now_ns: int) -> None:
        """End what takes too long."""
        flight, adjustment = book.flight, book.in_flight
        if flight is None or adjustment is None:
            return
        if book.gone_for_long(now_ns):
            self.end(book, adjustment, AdjustmentState.WITHDRAWN, now_ns, "the run no longer declares values")
        elif adjustment.state is AdjustmentState.OFFERED and now_ns > flight.prepare_by_ns:
            if flight.recovering:
                self._end_by_what_is_known(book, adjustment, now_ns)
            else:
                unanswered = [rank for rank in range(adjustment.ranks) if str(rank) not in adjustment.answers]
                reason = f"no answer in time of {_some(unanswered)}"
                self.end(book, adjustment, AdjustmentState.EXPIRED, now_ns, reason)
        elif adjustment.state is AdjustmentState.COMMITTED and adjustment.when == "step":
            self._watch_step(book, flight, adjustment, now_ns)

    def recover(self, book: RunBook, adjustment: Adjustment, now_ns: int) -> None:
        """Go on with an offer from before a restart of the collector. It may have been committed at the last moment."""
        recovering = adjustment.state is AdjustmentState.OFFERED
        until = now_ns + int(RECOVER_SECONDS * _SECOND)
        book.flight = Flight(adjustment.id, now_ns, until, recovering=recovering)

    def _note(self, book: RunBook, adjustment: Adjustment, rank: int, answer: RankAnswer) -> None:
        flight = book.flight
        updated = answers.with_answer(adjustment, rank, answer)
        if updated is None or flight is None:
            return
        updated = self.outbox.put(book, msgspec.structs.replace(updated, changed_ns=answer.time_ns))
        committed = flight.recovering or updated.state is AdjustmentState.COMMITTED
        self._settle(book, updated, answers.outcome(updated, committed=committed), answer.time_ns)

    def _settle(self, book: RunBook, adjustment: Adjustment, outcome: Outcome, now_ns: int) -> None:
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
                self.end(book, adjustment, state, now_ns, against or "no rank could apply it")
            case Outcome.APPLIED:
                book.flight = None
                self.applied(book, adjustment, now_ns)
            case Outcome.SPLIT:
                self._fail(book, adjustment, now_ns, _split_reason(adjustment))

    def _fail(self, book: RunBook, adjustment: Adjustment, now_ns: int, reason: str) -> None:
        flight, book.flight = book.flight, None
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
        if nobody_may and is_applied and same_value(answer.observed, adjustment.value_to):
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
                reason = f"no word after its step of {_some(answers.missing_ranks(adjustment))}"
                self.end(book, adjustment, AdjustmentState.WITHDRAWN, now_ns, reason)
        else:
            self._settle(book, adjustment, outcome, now_ns)

    def _of_this_term(self, adjustment: Adjustment) -> Adjustment:
        return msgspec.structs.replace(adjustment, term=self.term)


def _shown(adjustment: Adjustment, flight: Flight, rank: AbleRank, now_ns: int) -> RankAnswer | None:
    """Return what a declared value shows about a change whose step has passed; None if nothing.

    It never contradicts what a rank has reported itself, because all of them obey one decision.
    """
    value = rank.values.get(adjustment.name)
    may_be_applied = flight.recovering or adjustment.state is AdjustmentState.COMMITTED
    if value is None or not may_be_applied or rank.attempt != adjustment.attempt or rank.step < adjustment.at_step:
        return None
    has_new = same_value(value.value, adjustment.value_to)
    has_old = same_value(value.value, adjustment.value_from) and adjustment.when == "step"
    reported = {each.verdict for each in adjustment.answers.values()} if flight.agreeing else set()
    if has_new and not reported & {answers.ABORTED, answers.VETO}:
        return RankAnswer(verdict=answers.APPLIED, step=adjustment.at_step, observed=value.value, time_ns=now_ns)
    if has_new or (has_old and rank.step > adjustment.at_step + 1 and answers.APPLIED not in reported):
        reason = "its value is the same after the step"
        return RankAnswer(verdict=answers.ABORTED, step=rank.step, reason=reason, time_ns=now_ns)
    return None


def _split_reason(adjustment: Adjustment) -> str:
    applied = [
        rank
        for rank, each in adjustment.answers.items()
        if each.verdict == answers.APPLIED
        and each.observed is not None
        and same_value(each.observed, adjustment.value_to)
    ]
    others = [int(rank) for rank in adjustment.answers if rank not in applied]
    why = next((each.reason for each in adjustment.answers.values() if each.reason), "")
    return f"{len(applied)} of {adjustment.ranks} ranks applied it, but not {_some(others)}" + (
        f": {why}" if why else ""
    )


def _some(ranks: list[int]) -> str:
    shown = ", ".join(map(str, ranks[:4])) + (", …" if len(ranks) > 4 else "")
    return f"rank {shown}" if len(ranks) == 1 else f"ranks {shown}"
