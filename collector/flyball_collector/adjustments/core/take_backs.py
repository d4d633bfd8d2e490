"""Takes adjustments back by their inverses: those that did harm, those that a person undoes, and unequal ranks."""

from collections.abc import Callable
from dataclasses import dataclass

import msgspec

from flyball_collector.adjustments.adjustment import Adjustment, AdjustmentState, Decision, Value
from flyball_collector.adjustments.core.book import FollowUps, RunBook, TakeBack
from flyball_collector.adjustments.core.flights import Flights
from flyball_collector.adjustments.core.offer_checks import Checked, NotPossible, check
from flyball_collector.adjustments.declared.ranks import AbleRuns, RunValues
from flyball_collector.adjustments.limits import GOVERNOR, applied_ns
from flyball_collector.adjustments.values import same_value, value_text

TRIES = 6
FIRST_WAIT_SECONDS = 15.0
"""Until the second try; each further one doubles it. All of them take a quarter of an hour."""

ROLL_BACK, UNDO, REPAIR = "roll_back", "undo", "repair"

_SECOND = 10**9
_CAN_BE_UNDONE = frozenset({AdjustmentState.APPLIED, AdjustmentState.KEPT})


@dataclass(slots=True)
class TakeBacks:
    """The inverses of adjustments. An adjustment is taken back when its inverse was applied by all ranks."""

    outbox: FollowUps
    ables: AbleRuns
    flights: Flights
    new_id: Callable[[], str]

    def begin(self, book: RunBook, adjustment: Adjustment, what: str, why: str, now_ns: int) -> None:
        """Take an adjustment back as soon as possible. It is tried again if the ranks cannot do it now."""
        book.take_backs[adjustment.id] = TakeBack(adjustment.id, what, GOVERNOR, why, next_ns=now_ns)
        self.tick(book, now_ns)

    def undo(self, book: RunBook, adjustment: Adjustment, who: str, why: str, now_ns: int) -> Adjustment:
        """Offer the inverse at once because a person asks for it. Return the inverse. Raise `NotPossible`."""
        if adjustment.state not in _CAN_BE_UNDONE or adjustment.inverse_of:
            raise NotPossible(f"adjustment {adjustment.id} cannot be undone; it is {adjustment.state.value}")
        if adjustment.id in book.take_backs:
            raise NotPossible(f"adjustment {adjustment.id} is being taken back already")
        if busy := book.why_busy(adjustment.name):
            raise NotPossible(busy)
        values = self.ables.run(book.run)
        checked = check(values, book.run, adjustment.name, adjustment.value_from, adjustment.values_from)
        changed = _changed_since(values, adjustment)
        if changed is not None:
            raise NotPossible(f"{adjustment.name!r} has been changed since; it is {value_text(changed)}")
        back = book.take_backs[adjustment.id] = TakeBack(adjustment.id, UNDO, who, why)
        try:
            return self._offer(book, adjustment, back, values, checked, now_ns)
        except NotPossible:
            del book.take_backs[adjustment.id]
            raise

    def resume(self, book: RunBook, inverse: Adjustment) -> None:
        """Go on with an inverse from before a restart of the collector. Its first decision has who wanted it."""
        known = inverse.inverse_of
        for decided in inverse.decisions[:1] if known in book.adjustments else ():
            book.take_backs[known] = TakeBack(known, decided.what, decided.who, decided.why)

    def resume_ended(self, book: RunBook, adjustment: Adjustment, now_ns: int) -> None:
        """Try again what the newest inverse from before a restart has not taken back."""
        inverse = book.adjustments.get(adjustment.inverse)
        wanted = inverse.decisions[0] if inverse is not None else adjustment.decisions[-1]
        what = UNDO if wanted.what == UNDO else ROLL_BACK
        due_ns = now_ns + int(FIRST_WAIT_SECONDS * _SECOND)  # the ranks come back one after the other
        book.take_backs[adjustment.id] = TakeBack(
            adjustment.id, what, wanted.who, wanted.why, _tries(book, adjustment.id), due_ns
        )

    def resume_repair(self, book: RunBook, failed: Adjustment) -> None:
        """Go on with making ranks equal from before a restart, if they still differ when all of them are back.

        If it was an inverse that has split them, its change is still to be taken back, as its first decision states. Of
        several failures of a value, some may be from an earlier attempt: the first one that still splits them counts.
        """
        if book.is_repaired(failed.name) or not _is_to_be_repaired(book, failed):
            return
        back = TakeBack(failed.id, REPAIR, GOVERNOR, failed.reason, only_if_split=True)
        if failed.inverse_of:
            wanted = failed.decisions[0]
            back.id, back.what, back.who, back.why = failed.inverse_of, wanted.what, wanted.who, wanted.why
        back.tries = _tries(book, back.id)
        book.take_backs[back.id] = back

    def tick(self, book: RunBook, now_ns: int) -> None:
        """Try what is due."""
        for back in list(book.take_backs.values()):
            adjustment = book.adjustments[back.id]
            if back.id in book.take_backs and now_ns >= back.next_ns and not book.why_busy(adjustment.name):
                self._tick(book, adjustment, back, now_ns)

    def _tick(self, book: RunBook, adjustment: Adjustment, back: TakeBack, now_ns: int) -> None:
        values = self.ables.run(book.run)
        if values is None:
            if book.gone_for_long(now_ns):
                self._never_taken_back(book, adjustment, back, now_ns)
        elif back.only_if_split:
            if values.is_complete:
                _confirm(book, adjustment, back, values)
        elif _all_have(values, adjustment):
            self.end(book, back, now_ns, back.why)
        else:
            self._try(book, adjustment, back, values, now_ns)

    def _never_taken_back(self, book: RunBook, adjustment: Adjustment, back: TakeBack, now_ns: int) -> None:
        """Note that the run has ended with the change that was to be taken back."""
        del book.take_backs[back.id]
        if back.what != REPAIR:
            reason = f"{back.why}; the run ended before it was taken back"
            self.outbox.finish(book, adjustment, AdjustmentState.WITHDRAWN, now_ns, reason)

    def applied(self, book: RunBook, inverse: Adjustment, now_ns: int) -> None:
        """Note that all ranks have applied an inverse."""
        if (back := book.take_backs.get(inverse.inverse_of)) is not None:
            self.end(book, back, now_ns, back.why)
            self._repair_again(book, inverse.name, now_ns)

    def _repair_again(self, book: RunBook, name: str, now_ns: int) -> None:
        """Make ranks equal that a failed change had split, and that an undone change had made equal meanwhile."""
        values = self.ables.run(book.run)
        failed = [each for each in book.adjustments.values() if _has_failed(each, name)]
        if values is None or not failed or book.is_repaired(name) or not _are_split(values, failed[-1]):
            return
        if not any(each.inverse_of == failed[-1].id and _ended_by_a_person(each) for each in book.adjustments.values()):
            self.begin(book, failed[-1], REPAIR, failed[-1].reason, now_ns)

    def replaced(self, book: RunBook, adjustment: Adjustment, now_ns: int) -> None:
        """Note that the value of what was to be taken back has been changed by something else."""
        for back in list(book.take_backs.values()):
            if book.adjustments[back.id].name == adjustment.name:
                self.end(book, back, now_ns, f"{back.why}; replaced by {adjustment.id}")

    def not_applied(self, book: RunBook, inverse: Adjustment, now_ns: int) -> None:
        """Note that an inverse was not applied. What a person asked for is not repeated: the person sees the reason.

        But ranks that differ since are made equal.
        """
        back = book.take_backs.get(inverse.inverse_of)
        if back is None:
            return
        if back.what == UNDO and not back.tries and inverse.state is not AdjustmentState.FAILED:
            del book.take_backs[back.id]
        else:
            self._later(book, back, inverse.reason, now_ns)

    def give_up(self, book: RunBook, id_: str, reason: str, now_ns: int, *, who: str = GOVERNOR) -> None:
        """Leave a change as it is although it should be taken back. Unless a person wants that, a person must know."""
        back = book.take_backs.pop(id_, None)
        if back is None:
            return
        adjustment = book.adjustments[back.id]
        if who != GOVERNOR:  # what a person stops undoing stays as it was, and unequal ranks stay recorded as failed
            if back.what == ROLL_BACK:
                self.outbox.finish(book, adjustment, AdjustmentState.KEPT, now_ns, reason, who=who, what="keep")
            return
        if book.watch is not None and book.watch.id == back.id:
            book.watch = None
        text = f"{back.why or 'a person undid it'}; it could not be taken back: {reason}"
        self.outbox.loud.append(
            self.outbox.finish(book, adjustment, AdjustmentState.FAILED, now_ns, text, what="give_up")
        )

    def end(self, book: RunBook, back: TakeBack, now_ns: int, reason: str) -> None:
        """Note that a change is taken back. Unequal ranks stay recorded as failed."""
        book.take_backs.pop(back.id, None)
        if back.what == REPAIR:
            return
        state = AdjustmentState.UNDONE if back.what == UNDO else AdjustmentState.ROLLED_BACK
        if book.watch is not None and book.watch.id == back.id:
            book.watch = None
        self.outbox.finish(book, book.adjustments[back.id], state, now_ns, reason, who=back.who, what=back.what)

    def _try(self, book: RunBook, adjustment: Adjustment, back: TakeBack, values: RunValues, now_ns: int) -> None:
        try:
            checked = check(values, book.run, adjustment.name, adjustment.value_from, adjustment.values_from)
            self._offer(book, adjustment, back, values, checked, now_ns)
        except NotPossible as error:
            self._later(book, back, str(error), now_ns)

    def _later(self, book: RunBook, back: TakeBack, reason: str, now_ns: int) -> None:
        back.tries += 1
        back.next_ns = now_ns + int(FIRST_WAIT_SECONDS * 2.0 ** (back.tries - 1) * _SECOND)
        if back.tries >= TRIES:
            self.give_up(book, back.id, reason, now_ns)

    def _offer(
        self,
        book: RunBook,
        adjustment: Adjustment,
        back: TakeBack,
        values: RunValues | None,
        checked: Checked,
        now_ns: int,
    ) -> Adjustment:
        """Offer the inverse, and note it in the adjustment."""
        inverse = Adjustment(
            id=self.new_id(),
            run=adjustment.run,
            attempt=adjustment.attempt,
            name=adjustment.name,
            lever=adjustment.lever,
            value_from=checked.value_from,
            value_to=adjustment.value_from,
            values_to=adjustment.values_from,
            safety=checked.safety,
            when=checked.when,
            state=AdjustmentState.PROPOSED,
            rule=adjustment.rule,
            because=f"takes {adjustment.id} back" + (f": {back.why}" if back.why else ""),
            inverse_of=adjustment.id,
            created_ns=now_ns,
            changed_ns=now_ns,
            decisions=(Decision(time_ns=now_ns, what=back.what, who=back.who, why=back.why),),
        )
        offered = self.flights.offer(book, inverse, values, checked, now_ns)
        self.outbox.put(book, msgspec.structs.replace(book.adjustments[adjustment.id], inverse=inverse.id))
        return offered


def _confirm(book: RunBook, adjustment: Adjustment, back: TakeBack, values: RunValues) -> None:
    """Drop what is no longer to be taken back after a restart; if it is, drop later failures of the same value."""
    if book.is_repaired(adjustment.name):
        del book.take_backs[back.id]
        return
    back.only_if_split = False
    if _are_split(values, adjustment):
        for each in list(book.take_backs.values()):
            if each.only_if_split and book.adjustments[each.id].name == adjustment.name:
                del book.take_backs[each.id]
    elif not _all_have(values, adjustment):
        del book.take_backs[back.id]


def _is_to_be_repaired(book: RunBook, failed: Adjustment) -> bool:
    """Return True if a change has split the ranks and, as far as is stored, nothing has ended their repair."""
    last = [each.what for each in failed.decisions[-2:]]
    if last not in (["offer", "fail"], ["commit", "fail"]):
        return False
    if failed.inverse_of:
        change = book.adjustments.get(failed.inverse_of)
        if change is None or change.state not in _CAN_BE_UNDONE:
            return False
    taken_back, failed_ns = failed.inverse_of or failed.id, failed.decisions[-1].time_ns
    for each in book.adjustments.values():
        made_equal = each.name == failed.name and (applied_ns(each) or 0) >= failed_ns
        is_later = each.inverse_of == taken_back and each.changed_ns >= failed_ns
        if made_equal or (is_later and _ended_by_a_person(each)):
            return False
    return True


def _has_failed(adjustment: Adjustment, name: str) -> bool:
    return adjustment.name == name and adjustment.state is AdjustmentState.FAILED and not adjustment.inverse_of


def _tries(book: RunBook, taken_back: str) -> int:
    """Return how often it was tried before a restart; one more try is always left."""
    return min(sum(each.inverse_of == taken_back for each in book.adjustments.values()), TRIES - 1)


def _ended_by_a_person(inverse: Adjustment) -> bool:
    return inverse.is_over and inverse.decisions[-1].who != GOVERNOR


def _are_split(values: RunValues, adjustment: Adjustment) -> bool:
    """Return True if some ranks have the new value and others the old one. A rank may have changed by itself since."""
    declared = list(values.of(adjustment.name).values())
    return (
        values.attempt == adjustment.attempt
        and any(not same_value(each.value, declared[0].value) for each in declared)
        and _changed_since(values, adjustment) is None
    )


def _all_have(values: RunValues, adjustment: Adjustment) -> bool:
    """Return True if all ranks have the old value already."""
    declared = values.of(adjustment.name)
    return len(declared) == values.world_size and all(
        same_value(each.value, adjustment.from_of(rank)) for rank, each in declared.items()
    )


def _changed_since(values: RunValues | None, adjustment: Adjustment) -> Value | None:
    """Return the value of a rank that has neither the new nor the old one; None if there is no such rank."""
    for rank, each in values.of(adjustment.name).items() if values is not None else ():
        if not any(same_value(each.value, known) for known in (adjustment.to_of(rank), adjustment.from_of(rank))):
            return each.value
    return None
