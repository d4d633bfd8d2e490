"""The steps of runs as the governor sees them: how far each run is, its memory faults, and the effect of a change."""

from collections.abc import Sequence

import structlog

from flyball_collector.adjustments.adjustment import Adjustment
from flyball_collector.adjustments.core.book import RunBook
from flyball_collector.adjustments.core.core import AdjustmentCore
from flyball_collector.adjustments.core.timing import StepProgress
from flyball_collector.adjustments.effect.effect_watch import EffectJudgement, EffectWatch
from flyball_collector.adjustments.effect.rank_columns import RankColumns, RankTable
from flyball_collector.adjustments.situation.memory_faults import MemoryFaults
from flyball_collector.adjustments.situation.run_situation import MemoryFault
from flyball_collector.fleet.ranks import Ranks

_log = structlog.get_logger(__name__)

_SECOND = 10**9


class Measuring:
    """Reads the fleet's steps, and passes what follows from them to the core."""

    def __init__(self, core: AdjustmentCore, ranks: Ranks, watch_steps: int) -> None:
        self.effects = EffectWatch(watch_steps)
        self.faults = MemoryFaults()
        self._core = core
        self._ranks = RankTable(ranks)

    def take_steps(self, run: str, now_ns: int) -> None:
        """Take the newest steps of a run."""
        columns = self._ranks.of(run, now_ns)
        if columns is not None:
            self.effects.take(run, columns)
            self._core.progress(run, self._progress(run, columns))

    def take_fault(self, host: str, run: str, step: int, fault: MemoryFault) -> bool:
        """Take a report of a rank, only from its own host. Return True if the rank has changed a value by itself."""
        values = self._core.ables.run(run)
        if values is None or not any((each.rank, each.host) == (fault.rank, host) for each in values.ranks):
            return False
        is_new = self.faults.add(run, fault)
        if not is_new or not fault.recovered or not fault.name or fault.value_to is None:
            return False
        self._core.ables.set_value(run, fault.rank, fault.name, fault.value_to, step)
        self.effects.changed_at(run, step)
        return True

    def judge(self, books: Sequence[RunBook], now_ns: int) -> None:
        """Judge the effects of changes that are being watched, except of those that are taken back anyway."""
        for book in books:
            if book.watch is not None and book.measured_id:
                self._judge(book.adjustments[book.measured_id], book.watch.since_ns, now_ns)

    def forget(self, run: str) -> None:
        """Forget the steps of a run."""
        self.effects.forget(run)

    def _judge(self, adjustment: Adjustment, since_ns: int, now_ns: int) -> None:
        faults = sum(each.time_ns > since_ns for each in self.faults.of(adjustment.run))
        try:
            judgement = self.effects.judge(adjustment, since_ns, now_ns, faults)
        except Exception as error:  # noqa: BLE001  figures of one run must not stop all others
            _log.exception("adjustment_not_measured", id=adjustment.id, run=adjustment.run, error=repr(error))
            judgement = EffectJudgement(None, note="its effect could not be measured")
        if judgement is not None:
            self._core.measured(adjustment, judgement.effect, now_ns, harm=judgement.harm, note=judgement.note)

    def _progress(self, run: str, columns: RankColumns) -> StepProgress:
        """Return how far a run is. Right after a change of a value, the shortest known duration of a step counts."""
        step, at_ns = int(columns.step.max()), int(columns.at.max() * _SECOND)
        recent = self.effects.recent_step_seconds(run)
        if recent:
            return StepProgress(step, recent, at_ns, settled=True)
        steps = columns.steps.sum()
        known = (self.effects.last_step_seconds(run), columns.seconds.sum() / steps if steps else None)
        seconds = [float(each) for each in known if each is not None and each > 0]
        return StepProgress(step, min(seconds, default=None), at_ns)
