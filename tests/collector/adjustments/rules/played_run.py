"""Plays a run through the rules for an hour. A simple governor makes what they propose, within the real limits."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from flyball_collector.adjustments.adjustment import Adjustment, AdjustmentState, Decision, Value
from flyball_collector.adjustments.declared.ranks import RankValue
from flyball_collector.adjustments.limits import AT_ONCE, why_not_now
from flyball_collector.adjustments.proposal import Proposal
from flyball_collector.adjustments.rules.proposer import Proposer
from flyball_collector.adjustments.settings import AdjustmentsSettings
from flyball_collector.adjustments.situation.run_situation import RunSituation
from tests.collector.adjustments.rules.runs import NOW, SECOND, effect, ranks

EVERY_SECONDS = 5
APPLIED_AFTER_SECONDS = 10  # six seconds to prepare, and the next report
WATCHED_SECONDS = 50  # a hundred steps

Values = Mapping[str, Value]
World = Callable[[float, Values], RunSituation]
"""Returns the facts at a time (seconds) with these values."""


@dataclass
class PlayedRun:
    """One rank with some values, in a world that reacts to them."""

    values: dict[str, RankValue]
    world: World
    speed: Callable[[Values], float] = lambda _: 1.0  # of the training, with these values
    settings: AdjustmentsSettings = field(default_factory=AdjustmentsSettings)
    patience: float = 1.0
    history: list[Adjustment] = field(default_factory=list)  # the newest last

    def play(self, seconds: int = 3600) -> list[Proposal]:
        """Let time pass, and return the proposals that were made. Each takes effect ten seconds later."""
        proposer, made = Proposer(patience=self.patience), []
        offered: tuple[float, Proposal] | None = None
        watched_until = -1.0
        for second in range(0, seconds, EVERY_SECONDS):
            if offered is not None and second >= offered[0]:
                watched_until, offered = self._make(offered[1], second), None
            found = replace(self.world(second, self.now), now_ns=NOW + second * SECOND)
            proposals = proposer.proposals(found, ranks(list(self.values.values())), self.history)
            if offered is None and second >= watched_until:
                allowed = [one for one in proposals if self._allows(one, found.now_ns)]
                made += allowed[:1]
                offered = (second + APPLIED_AFTER_SECONDS, allowed[0]) if allowed else None
        return made

    @property
    def now(self) -> dict[str, Value]:
        """The present values."""
        return {name: value.value for name, value in self.values.items()}

    def _allows(self, one: Proposal, now_ns: int) -> bool:
        return not why_not_now(
            self.history[::-1], self.settings, now_ns,
            rule=one.rule, name=one.name, lever=one.lever, to=one.to, protects=one.protects,
        )  # fmt: skip

    def _make(self, one: Proposal, second: float) -> float:
        """Apply a change, measure it, and keep it or take it back. Return when the next one may begin."""
        before = self.speed(self.now)
        self.values[one.name] = replace(self.values[one.name], value=one.to)
        gain = self.speed(self.now) / before
        kept = one.protects or gain >= 0.95
        if not kept:
            self.values[one.name] = replace(self.values[one.name], value=one.value_from)
        over = second + (0 if one.lever in AT_ONCE else WATCHED_SECONDS)
        applied_ns, over_ns = (NOW + int(at * SECOND) for at in (second, over))
        self.history.append(
            Adjustment(
                id=f"{len(self.history):016x}",
                run="r",
                attempt=0,
                name=one.name,
                lever=one.lever,
                value_from=one.value_from,
                value_to=one.to,
                safety=one.safety,
                rule=one.rule,
                protects=one.protects,
                state=AdjustmentState.KEPT if kept else AdjustmentState.ROLLED_BACK,
                changed_ns=over_ns,
                effect=None if one.lever in AT_ONCE else effect(gain),
                decisions=(Decision(time_ns=applied_ns, what="applied", who="flyball"),),
            )
        )
        return over
