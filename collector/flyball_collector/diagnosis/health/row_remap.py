"""Detects GPU memory rows that wait for a spare row (reset the GPU), or for which there is none (replace the GPU)."""

from collections.abc import Iterable, Sequence

import numpy as np

from flyball_collector.diagnosis.claims import Claims
from flyball_collector.diagnosis.kinds import BY_NAME, EventKind, Severity
from flyball_collector.diagnosis.view import View

KIND = BY_NAME["gpu_row_remap"]


class RowRemapDetector:
    """Evaluates the driver's two flags."""

    name = "row_remap"
    kinds: Sequence[EventKind] = (KIND,)
    needs: Sequence[str] = ("gpu_row_remap_pending", "gpu_row_remap_failed")

    def observe(self, view: View) -> Iterable[Claims]:
        """Report pending remaps as a warning, failed ones as critical."""
        pending, failed = view.gpu("gpu_row_remap_pending"), view.gpu("gpu_row_remap_failed")
        enters = (pending > 0) | (failed > 0)

        def words(place: int) -> str:
            if failed[place] > 0:
                return "a memory row could not be remapped; drain the GPU and have it replaced (RMA)"
            return "a memory row waits to be remapped; reset the GPU when it is free, running work is not affected"

        yield Claims(
            kind=KIND,
            subjects=view.gpus,
            enters=enters,
            stays=enters,
            confidence=np.full(len(view.gpus), 0.99),
            known=enters | ~(np.isnan(pending) & np.isnan(failed)),
            severity=np.where(failed > 0, Severity.CRITICAL, Severity.WARNING).astype(np.int8),
            because=words,
            evidence={
                "pending": pending,
                "failed": failed,
                "rows_by_uncorrected": view.gpu("gpu_remapped_rows", cause="uncorrected"),
                "rows_by_corrected": view.gpu("gpu_remapped_rows", cause="corrected"),
            },
        )
