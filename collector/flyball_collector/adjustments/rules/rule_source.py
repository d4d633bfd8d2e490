"""Asks the rules about a run, with the facts of the collector's diagnosis."""

from collections.abc import Sequence

import structlog

from flyball_collector.adjustments.adjustment import Adjustment
from flyball_collector.adjustments.declared.ranks import RunValues
from flyball_collector.adjustments.limits import AT_ONCE, applied_ns
from flyball_collector.adjustments.proposal import Proposal
from flyball_collector.adjustments.rules.catalogue import RULES
from flyball_collector.adjustments.rules.proposer import Proposer
from flyball_collector.adjustments.rules.service import SERVICE_LEVERS
from flyball_collector.adjustments.settings import AdjustmentsSettings
from flyball_collector.adjustments.situation.run_facts import RunFacts
from flyball_collector.adjustments.situation.run_situation import MemoryFault
from flyball_collector.engine.engine import Diagnosis
from flyball_collector.engine.start_up import StartUp

_log = structlog.get_logger(__name__)

LEVERS = AT_ONCE | {rule.lever for rule in RULES}
"""The standard changes. Scripts may declare others, which only people use."""

USUAL_COOLDOWN_MINUTES = 10.0
"""With a shorter cool-down, findings need not last as long either: a demonstration is over in minutes."""

MAX_RANKS = 2048
"""Facts and rules take 25 ms for a run with so many ranks, and more in proportion. Larger runs are left to people."""


class RuleSource:
    """The rules of the catalogue, over the newest view of the diagnosis."""

    def __init__(self, diagnosis: Diagnosis, start_up: StartUp, settings: AdjustmentsSettings) -> None:
        self._diagnosis = diagnosis
        self._start_up = start_up
        self._disabled = settings.disabled_levers
        unknown = [each for each in settings.disabled_levers if each not in LEVERS]
        if settings.enabled and unknown:
            remedy = "correct adjustments.disabled_levers, unless scripts declare levers of these names"
            _log.warning("unknown_levers_disabled", levers=unknown, known=sorted(LEVERS), remedy=remedy)
        self._facts = RunFacts(diagnosis.advisor)
        self._proposer = Proposer(patience=min(1.0, settings.cooldown_minutes / USUAL_COOLDOWN_MINUTES))

    def proposals(
        self,
        values: RunValues,
        faults: Sequence[MemoryFault],
        history: Sequence[Adjustment],
        now_ns: int,  # noqa: ARG002  the view has its own time
    ) -> Sequence[Proposal] | None:
        """Return what the rules propose, the best first; None while the diagnosis knows too little."""
        view = self._diagnosis.view
        if view is None or not self._start_up.windows_warm or values.world_size > MAX_RANKS:
            return None
        changed_ns = max((at for each in history if (at := applied_ns(each)) is not None), default=0)
        situation = self._facts.situation(
            view,
            self._diagnosis.conditions,
            values.run,
            faults,
            changed_ns,
            calls_services=any(value.lever in SERVICE_LEVERS for value in values.ranks[0].values.values()),
        )
        if situation is None:
            return None
        return self._proposer.proposals(situation, values, history, self._disabled)

    def forget(self, run: str) -> None:
        """Forget a run that is over."""
        self._facts.forget(run)
        self._proposer.forget(run)
