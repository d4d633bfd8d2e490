"""Evaluates all rules for a run. A finding must last before it becomes a proposal, so that noise changes nothing."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from math import sqrt

from flyball_collector.adjustments.adjustment import Adjustment, Value
from flyball_collector.adjustments.declared.declared_values import DeclaringRun, SharedValue
from flyball_collector.adjustments.proposal import Proposal, RefusedChange
from flyball_collector.adjustments.rules.catalogue import RULES
from flyball_collector.adjustments.rules.dry_run import DryRun, dry_run
from flyball_collector.adjustments.rules.rule import AdjustmentRule, RuleChange
from flyball_collector.adjustments.rules.run_case import RunCase, run_case
from flyball_collector.adjustments.rules.thresholds import LEAST_GAIN
from flyball_collector.adjustments.rules.trials import barred
from flyball_collector.adjustments.situation.run_situation import RunSituation
from flyball_collector.adjustments.values import same_value

GAP_SECONDS = 30.0
"""A finding that was not evaluated for this long begins again: the collector or the run was away."""


@dataclass(frozen=True, slots=True)
class RuleFinding:
    """A change that a rule has found for a value."""

    rule: AdjustmentRule
    value: SharedValue
    change: RuleChange

    @property
    def worth(self) -> float:
        """The expected gain: the geometric mean of its bounds; 1 if it prevents something."""
        gain = self.change.gain
        return 1.0 if gain is None else sqrt(gain[0] * gain[1])


@dataclass(slots=True)
class _Held:
    """Since when a rule has been finding the same change."""

    to: Value
    since: float
    last: float


def findings(case: RunCase, rules: Sequence[AdjustmentRule] = RULES) -> Iterator[RuleFinding]:
    """Yield what the rules find: what protects the run first, then the largest expected gain."""
    found = [
        RuleFinding(rule, value, change)
        for rule in rules
        for value in case.values
        if value.lever == rule.lever and (change := rule.find(case, value)) is not None
        if change.to != value.now or value.differs
    ]
    worthwhile = [each for each in found if each.rule.protects or (each.change.gain or (1, 2))[1] >= LEAST_GAIN]
    yield from sorted(worthwhile, key=lambda each: (not each.rule.protects, -each.worth))


class Proposer:
    """Turns findings into proposals. `patience` scales the time that a finding must last; tests and demos lower it."""

    def __init__(self, rules: Sequence[AdjustmentRule] = RULES, *, patience: float = 1.0) -> None:
        self._rules = rules
        self._patience = patience
        self._held: dict[str, dict[tuple[str, str], _Held]] = {}
        self._refusals: dict[str, tuple[RefusedChange, ...]] = {}

    def propose(
        self,
        situation: RunSituation,
        run: DeclaringRun,
        history: Sequence[Adjustment],
        disabled: Collection[str] = (),
    ) -> Proposal | None:
        """Return the best proposal."""
        return next(iter(self.proposals(situation, run, history, disabled)), None)

    def proposals(
        self,
        situation: RunSituation,
        run: DeclaringRun,
        history: Sequence[Adjustment],
        disabled: Collection[str] = (),
    ) -> tuple[Proposal, ...]:
        """Return all proposals, the best first. Call it every few seconds, and make at most one of them.

        `history` holds the adjustments of the run in any order, and `disabled` the levers that must not be used.
        """
        case = run_case(situation, run, history)
        found = [each for each in findings(case, self._rules) if not each.value.blocked]
        lasting = self._lasting(run.run, found, situation.now)
        proposals, refusals = [], []
        for each in lasting:
            judged = _judge(case, each, disabled)
            if judged.refusal:
                refusals.append(
                    RefusedChange(rule=each.rule.name, name=each.value.name, to=each.change.to, reason=judged.refusal)
                )
            else:
                proposals.append(_proposal(case, each, judged))
        self._refusals[run.run] = tuple(refusals)
        return tuple(proposals)

    def refusals(self, run: str) -> tuple[RefusedChange, ...]:
        """Return what the rules found for a run at the last evaluation that must not be made, with the reasons."""
        return self._refusals.get(run, ())

    def forget(self, run: str) -> None:
        """Forget a run that is over."""
        self._held.pop(run, None)
        self._refusals.pop(run, None)

    def _lasting(self, run: str, found: Sequence[RuleFinding], now: float) -> list[RuleFinding]:
        """Return the findings that have lasted long enough, and remember all of them."""
        before, after = self._held.get(run, {}), {}
        lasting = []
        for each in found:
            key = (each.rule.name, each.value.name)
            held = before.get(key)
            if held is None or not same_value(held.to, each.change.to) or not 0 <= now - held.last <= GAP_SECONDS:
                held = _Held(each.change.to, now, now)
            held.last = now
            after[key] = held
            if now - held.since >= self._patience * each.rule.hold_seconds:
                lasting.append(each)
        self._held[run] = after
        return lasting


def _judge(case: RunCase, found: RuleFinding, disabled: Collection[str]) -> DryRun:
    """Return the dry run of a finding, with the reason against it from earlier attempts, if there is one."""
    rule, value, change = found.rule, found.value, found.change
    tried = barred(
        case.history,
        value.name,
        value.now,
        change.to,
        case.situation.now_ns,
        protects=rule.protects,
        reversal_seconds=rule.reversal_seconds,
    )
    if tried:
        return DryRun(refusal=tried)
    return dry_run(case, value, change.to, gain=change.gain, known=change.predicted, disabled=disabled)


def _proposal(case: RunCase, found: RuleFinding, judged: DryRun) -> Proposal:
    rule, value, change = found.rule, found.value, found.change
    return Proposal(
        run=case.run.run,
        name=value.name,
        lever=value.lever,
        value_from=value.now,
        to=change.to,
        rule=rule.name,
        because=change.because,
        safety=max(rule.safety, value.safety),
        expected_low=None if change.gain is None else change.gain[0],
        expected_high=None if change.gain is None else change.gain[1],
        predicted=judged.predicted,
        protects=rule.protects,
        conditions=tuple(sorted(event.condition for event in change.events)),
    )
