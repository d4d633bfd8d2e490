"""Proposals of rules and requests of people: what becomes an offer, what waits for a person, and what is refused."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from flyball_collector.adjustments.adjustment import Adjustment, AdjustmentState, Decision, Value
from flyball_collector.adjustments.core.book import FollowUps, RunBook
from flyball_collector.adjustments.core.flights import Flights
from flyball_collector.adjustments.core.offer_checks import Checked, NotPossible, check
from flyball_collector.adjustments.core.policy import Permission, permission
from flyball_collector.adjustments.core.take_backs import TakeBacks
from flyball_collector.adjustments.declared.ranks import AbleRuns
from flyball_collector.adjustments.limits import AT_ONCE, GOVERNOR, why_not_now
from flyball_collector.adjustments.proposal import Proposal
from flyball_collector.adjustments.settings import AdjustmentsSettings
from flyball_collector.adjustments.values import same_value, value_text

_SECOND = 10**9


@dataclass(slots=True)
class Proposals:
    """Adjustments before their offer."""

    settings: AdjustmentsSettings
    outbox: FollowUps
    ables: AbleRuns
    flights: Flights
    take_backs: TakeBacks
    new_id: Callable[[], str]

    # --- rules ---

    def why_not(self, book: RunBook, proposal: Proposal, policy: str, now_ns: int) -> str:
        """Return why a rule must not change this now; empty if it may."""
        if policy == "off":
            return "the policy of the run is off"
        if busy := book.why_busy(proposal.name):
            return busy
        if book.takes_back(proposal.name):
            return "its last change is to be taken back"
        if book.measured_id and not (proposal.protects or proposal.lever in AT_ONCE):
            return "the effect of another change is being measured"
        return why_not_now(
            list(book.newest_first()),
            self.settings,
            now_ns,
            rule=proposal.rule,
            name=proposal.name,
            lever=proposal.lever,
            to=proposal.to,
            protects=proposal.protects,
        )

    def by_rule(self, book: RunBook, proposal: Proposal, policy: str, now_ns: int) -> Adjustment | None:
        """Offer what a rule proposes, or keep it for a person, as the policy demands. Return None if neither can be."""
        if self.why_not(book, proposal, policy, now_ns):
            return None
        try:
            checked = check(self.ables.run(book.run), book.run, proposal.name, proposal.to)
        except NotPossible:
            return None
        safety = max(proposal.safety, checked.safety)
        allowed = permission(policy, safety, checked.when, self.settings)
        waiting = [each for each in book.in_state(AdjustmentState.PROPOSED) if each.name == proposal.name]
        if allowed is Permission.ASK and any(same_value(each.value_to, proposal.to) for each in waiting):
            return None
        adjustment = self._of_proposal(proposal, checked, safety, now_ns)
        for each in waiting:
            reason = f"replaced by the newer proposal {adjustment.id}"
            self.outbox.finish(book, each, AdjustmentState.WITHDRAWN, now_ns, reason)
        self.outbox.put(book, adjustment)
        if allowed is not Permission.YES:
            return adjustment
        try:
            return self._offer(book, adjustment, checked, now_ns)
        except NotPossible:
            return None

    def reason_gone(self, book: RunBook, names: Sequence[str], now_ns: int) -> None:
        """Withdraw proposals of rules for values that no rule proposes to change any more."""
        for each in book.in_state(AdjustmentState.PROPOSED):
            if each.name not in names and each.rule:
                self.outbox.finish(book, each, AdjustmentState.WITHDRAWN, now_ns, "its reason has gone")

    def expire(self, book: RunBook, now_ns: int) -> None:
        """End the proposals that nobody has answered."""
        minutes = self.settings.approval_minutes
        gone = book.gone_for_long(now_ns)
        for each in book.in_state(AdjustmentState.PROPOSED):
            if now_ns - each.created_ns > minutes * 60 * _SECOND:
                reason = f"nobody approved it in {minutes:g} minutes"
                self.outbox.finish(book, each, AdjustmentState.EXPIRED, now_ns, reason, what="not_approved")
            elif gone:
                reason = "the run no longer declares values"
                self.outbox.finish(book, each, AdjustmentState.WITHDRAWN, now_ns, reason)

    def run_left(self, book: RunBook, now_ns: int) -> None:
        """Withdraw what waits for a person in a run that the last rank has left."""
        for each in book.in_state(AdjustmentState.PROPOSED):
            self.outbox.finish(book, each, AdjustmentState.WITHDRAWN, now_ns, "its ranks have left the run")

    # --- people: they raise NotPossible ---

    def by_person(self, book: RunBook, name: str, to: Value, who: str, why: str, now_ns: int) -> Adjustment:
        """Offer what a person asks for: everything that the ranks can do, one change at a time."""
        checked = check(self.ables.run(book.run), book.run, name, to)
        if checked.value.lever in self.settings.disabled_levers:
            raise NotPossible(
                f"the operator has disabled the lever {checked.value.lever} (adjustments.disabled_levers)"
            )
        self._check_free(book, name, checked.value.lever)
        adjustment = Adjustment(
            id=self.new_id(),
            run=book.run,
            attempt=0,
            name=name,
            lever=checked.value.lever,
            hosts=checked.hosts,
            value_from=checked.value_from,
            values_from=checked.values_from,
            value_to=to,
            safety=checked.safety,
            when=checked.when,
            state=AdjustmentState.PROPOSED,
            because=why,
            created_ns=now_ns,
            changed_ns=now_ns,
            decisions=(Decision(time_ns=now_ns, what="propose", who=who, why=why),),
        )
        return self._offer(book, self.outbox.put(book, adjustment), checked, now_ns)

    def approve(self, book: RunBook, adjustment: Adjustment, who: str, why: str, now_ns: int) -> Adjustment:
        """Offer a proposed adjustment."""
        if adjustment.state is not AdjustmentState.PROPOSED:
            why = f": {adjustment.reason}" if adjustment.is_over and adjustment.reason else ""
            state = f"{adjustment.state.value}{why}"
            raise NotPossible(f"adjustment {adjustment.id} does not wait for approval; it is {state}")
        checked = check(self.ables.run(book.run), book.run, adjustment.name, adjustment.value_to)
        self._check_free(book, adjustment.name, adjustment.lever)
        if not same_value(checked.value_from, adjustment.value_from):
            now = value_text(checked.value_from)
            raise NotPossible(f"{adjustment.name!r} is {now} now; the proposal was made for another value")
        if checked.values_from != adjustment.values_from:
            raise NotPossible(f"some ranks have changed {adjustment.name!r} since it was proposed")
        approved = self.outbox.change(book, adjustment, now_ns, "approve", who=who, why=why)
        return self._offer(book, approved, checked, now_ns)

    def veto(self, book: RunBook, adjustment: Adjustment, who: str, why: str, now_ns: int) -> Adjustment:
        """End an adjustment that was not applied. One that is committed may still be applied by the ranks."""
        reason = f"vetoed by {who}" + (f": {why}" if why else "")
        if adjustment.state is AdjustmentState.PROPOSED:
            return self.outbox.finish(book, adjustment, AdjustmentState.VETOED, now_ns, reason, who=who, what="veto")
        if adjustment.id in book.waiting:
            raise NotPossible(book.why_busy(adjustment.name))
        if adjustment.state is AdjustmentState.COMMITTED:
            raise NotPossible(
                f"adjustment {adjustment.id} is committed at step {adjustment.at_step}; undo it afterwards"
            )
        if adjustment.state is not AdjustmentState.OFFERED or book.flight is None or book.flight.recovering:
            raise NotPossible(f"adjustment {adjustment.id} is {adjustment.state.value}; an applied one can be undone")
        if adjustment.inverse_of:
            self.take_backs.give_up(book, adjustment.inverse_of, reason, now_ns, who=who)
        self.flights.end(book, adjustment, AdjustmentState.VETOED, now_ns, reason, who=who, what="veto")
        return book.adjustments[adjustment.id]

    # --- helpers ---

    def _check_free(self, book: RunBook, name: str, lever: str) -> None:
        if busy := book.why_busy(name):
            raise NotPossible(busy)
        if book.measured_id and lever not in AT_ONCE:
            text = f"the effect of adjustment {book.measured_id} is being measured"
            raise NotPossible(f"{text}; wait until it is over, or undo it first")

    def _offer(self, book: RunBook, adjustment: Adjustment, checked: Checked, now_ns: int) -> Adjustment:
        """Offer it, or end it and raise `NotPossible`."""
        try:
            return self.flights.offer(book, adjustment, self.ables.run(book.run), checked, now_ns)
        except NotPossible as error:
            self.outbox.finish(book, adjustment, AdjustmentState.WITHDRAWN, now_ns, str(error))
            raise

    def _of_proposal(self, proposal: Proposal, checked: Checked, safety: int, now_ns: int) -> Adjustment:
        return Adjustment(
            id=self.new_id(),
            run=proposal.run,
            attempt=0,
            name=proposal.name,
            lever=proposal.lever,
            hosts=checked.hosts,
            value_from=checked.value_from,
            values_from=checked.values_from,
            value_to=proposal.to,
            safety=safety,
            when=checked.when,
            protects=proposal.protects,
            state=AdjustmentState.PROPOSED,
            rule=proposal.rule,
            because=proposal.because,
            expected_low=proposal.expected_low,
            expected_high=proposal.expected_high,
            predicted=dict(proposal.predicted),
            created_ns=now_ns,
            changed_ns=now_ns,
            decisions=(Decision(time_ns=now_ns, what="propose", who=GOVERNOR, why=proposal.because),),
        )
