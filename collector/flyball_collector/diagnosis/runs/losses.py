"""Detects losses that are NaN or infinite."""

from collections.abc import Iterable, Sequence

import numpy as np

from flyball_collector.diagnosis.claims import Claims
from flyball_collector.diagnosis.kinds import BY_NAME
from flyball_collector.diagnosis.runs.run_view import Runs
from flyball_collector.diagnosis.seen_metrics import ANY_STEP
from flyball_collector.diagnosis.view import View

_IN_A_ROW = 3
"""The loss scaler of half-precision training skips single steps, which is normal."""


class LossDetector:
    """Reports `loss_not_finite`: several reports of a rank in a row had a loss that is NaN or infinite."""

    name = "loss"
    kinds = (BY_NAME["loss_not_finite"],)
    needs: Sequence[str] = (ANY_STEP,)

    def __init__(self, runs: Runs) -> None:
        self._runs = runs

    def observe(self, view: View) -> Iterable[Claims]:
        runs = self._runs.of(view)
        if not len(runs.keys):
            return ()
        bad = runs.quantile(runs.ranks.column("bad_losses"), 1.0)
        return (
            Claims(
                kind=self.kinds[0],
                subjects=runs.runs,
                enters=bad >= _IN_A_ROW,
                stays=bad >= 1,
                confidence=np.full(len(runs.runs), 0.97),
                because=lambda place: f"the loss was NaN or infinite in the last {bad[place]:.0f} reports",
                evidence={"reports": bad},
            ),
        )
