"""Rows of a GPU's memory that wait for a spare one (a reset does it), or for which there is none (replace the GPU)."""

from collections.abc import Iterable, Sequence

import numpy as np

from flyball_collector.diagnosis.claims import Claims
from flyball_collector.diagnosis.kinds import BY_NAME, EventKind, Severity
from flyball_collector.diagnosis.view import View

KIND = BY_NAME["gpu_row_remap"]


class RowRemapDetector:
    """The driver's two flags."""

    name = "row_remap"
    kinds: Sequence[EventKind] = (KIND,)
    needs: Sequence[str] = ("gpu_row_remap_pending", "gpu_row_remap_failed")

    def observe(self, view: View) -> Iterable[Claims]:
        """Pending is a warning; failed is the end of this GPU's service."""
        pending, failed = view.gpu("gpu_row_remap_pending"), view.gpu("gpu_row_remap_failed")
        enters = (pending > 0) | (failed > 0)

        def words(place: int) -> str:
            if failed[place] > 0:
                return "a row could not be replaced: drain the GPU and have it replaced (RMA)"
            return "a row waits to be replaced: reset the GPU when it is next free; work on it goes on unharmed"

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
