"""Requests of people: changes, approvals, refusals, undoing, and policies. They raise `AdjustmentRefused`."""

from collections.abc import Callable

from flyball_collector.adjustments.adjustment import Adjustment, Value
from flyball_collector.adjustments.core.book import PolicyChoice
from flyball_collector.adjustments.core.core import AdjustmentCore
from flyball_collector.adjustments.core.offer_checks import NotPossible
from flyball_collector.adjustments.declared.ranks import POLICIES
from flyball_collector.adjustments.governor import archive
from flyball_collector.adjustments.governor.delivery import Delivery
from flyball_collector.adjustments.governor.measuring import Measuring
from flyball_collector.adjustments.governor.parts import DocumentJournal
from flyball_collector.adjustments.governor.refusal import AdjustmentRefused
from flyball_collector.adjustments.limits import AT_ONCE
from flyball_collector.foreign_text import one_line

LONGEST_WHY = 500


class Requests:
    """Meets requests, or raises the reason why not."""

    def __init__(
        self,
        core: AdjustmentCore,
        measuring: Measuring,
        delivery: Delivery,
        journal: DocumentJournal,
        clock: Callable[[], int],
    ) -> None:
        self.enabled = False  # until everything is loaded
        self._core = core
        self._measuring = measuring
        self._delivery = delivery
        self._journal = journal
        self._clock = clock

    def propose(self, run: str, name: str, to: Value, who: str, why: str) -> Adjustment:
        """Offer a change that a person asks for."""
        self._check_policy(run)
        self._check_store(self._lever_of(run, name))
        return self._made(run, lambda now_ns: self._core.by_person(run, name, to, who, _line(why), now_ns))

    def approve(self, adjustment: str, who: str, why: str) -> Adjustment:
        """Offer a proposed adjustment to the ranks."""
        known = self._known(adjustment)
        self._check_policy(known.run)
        self._check_store(known.lever)
        return self._made(known.run, lambda now_ns: self._core.approve(known, who, _line(why), now_ns))

    def veto(self, adjustment: str, who: str, why: str) -> Adjustment:
        """End an adjustment that was not applied yet."""
        known = self._known(adjustment)
        return self._made(known.run, lambda now_ns: self._core.veto(known, who, _line(why), now_ns))

    def undo(self, adjustment: str, who: str, why: str) -> Adjustment:
        """Offer the inverse of an adjustment that was applied. Return the inverse."""
        known = self._known(adjustment)
        return self._made(known.run, lambda now_ns: self._core.undo(known, who, _line(why), now_ns))

    def set_policy(self, run: str, policy: str, who: str, why: str) -> str:
        """Set the policy of a run, and return what is in force under the operator's limit."""
        if policy not in POLICIES:
            raise AdjustmentRefused(f"{policy!r} is not a policy; choose off, ask or auto", "invalid")
        if self._core.ables.run(run) is None and run not in self._core.books:
            raise AdjustmentRefused(f"no rank of run {run!r} declares adjustable values", "unknown")
        choice = PolicyChoice(run=run, policy=policy, who=who, why=_line(why), time_ns=self._clock())
        in_force = self._core.set_policy(choice)
        self._journal.add([archive.put_of_choice(choice)])
        self._delivery.flush()
        return in_force

    def _check_policy(self, run: str) -> None:
        values = self._core.ables.run(run)
        if values is not None and self._core.policy(run) == "off":
            who = "its training" if values.policy == "off" else "the policy"
            raise AdjustmentRefused(f"{who} of run {run!r} allows no adjustments (off)")

    def _check_store(self, lever: str) -> None:
        """Refuse a change that stays while it could not be recorded: nobody could take it back after a restart."""
        if self._journal.failing and lever not in AT_ONCE:
            raise AdjustmentRefused(
                "the store accepts no writes now, so a change could not be recorded; `/readyz` and the collector's log "
                "have the reason"
            )

    def _lever_of(self, run: str, name: str) -> str:
        values = self._core.ables.run(run)
        value = values.value(name) if values is not None else None
        return "" if value is None else value.lever

    def _known(self, adjustment: str) -> Adjustment:
        known = self._delivery.find(adjustment)
        if known is None:
            text = f"no adjustment {adjustment[:64]!r}; list them with `flyball adjust list`"
            raise AdjustmentRefused(text, "unknown")
        return known

    def _made(self, run: str, action: Callable[[int], Adjustment]) -> Adjustment:
        if not self.enabled:
            raise AdjustmentRefused("the collector is still loading adjustments; try again in some seconds")
        now_ns = self._clock()
        self._measuring.take_steps(run, now_ns)
        try:
            adjustment = action(now_ns)
        except NotPossible as error:
            raise AdjustmentRefused(str(error)) from None
        finally:
            self._delivery.flush()
        return self._delivery.find(adjustment.id) or adjustment


def _line(why: str) -> str:
    return one_line(why, LONGEST_WHY)
