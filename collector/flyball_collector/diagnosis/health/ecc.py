"""Detects uncorrected GPU memory errors. Corrected errors alone are normal."""

from collections.abc import Iterable, Sequence

import numpy as np

from flyball_collector.diagnosis.claims import Claims
from flyball_collector.diagnosis.health.growth import Growth
from flyball_collector.diagnosis.kinds import BY_NAME, EventKind
from flyball_collector.diagnosis.view import View

KIND = BY_NAME["gpu_ecc"]

_RECENT_SECONDS = 3600.0


class EccDetector:
    """Evaluates error counts, not only their growth: errors from before the first reading are errors too."""

    name = "ecc"
    kinds: Sequence[EventKind] = (KIND,)
    needs: Sequence[str] = ("gpu_ecc_uncorrected_errors_total", "gpu_ecc_uncorrected_errors_lifetime_total")

    def __init__(self) -> None:
        self._lifetime = Growth(_RECENT_SECONDS, 12)

    def observe(self, view: View) -> Iterable[Claims]:
        """Report errors since the driver was loaded, or growth of the lifetime count if there is only that."""
        volatile = view.gpu("gpu_ecc_uncorrected_errors_total")
        lifetime = view.gpu("gpu_ecc_uncorrected_errors_lifetime_total")
        corrected = view.gpu("gpu_ecc_corrected_errors_total")
        grown = self._lifetime.add(view.gpus, lifetime, view.now)
        enters = (volatile > 0) | (grown > 0)  # False if unknown

        def words(place: int) -> str:
            counts = []
            if volatile[place] > 0:
                counts.append(f"{volatile[place]:.0f} since the driver was loaded")
            if grown[place] > 0:
                counts.append(f"{grown[place]:.0f} in the last hour")
            errors = f"uncorrected memory errors: {', '.join(counts)}"
            return f"{errors}; results of the run may be wrong; drain and reset the GPU"

        yield Claims(
            kind=KIND,
            subjects=view.gpus,
            enters=enters,
            stays=enters,
            confidence=np.full(len(view.gpus), 0.99),
            known=enters | ~(np.isnan(volatile) & np.isnan(lifetime)),
            because=words,
            evidence={"uncorrected": volatile, "uncorrected_in_an_hour": grown, "corrected": corrected},
        )
