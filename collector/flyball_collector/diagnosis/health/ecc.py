"""Memory errors of GPUs that were not corrected. Corrected ones alone are the memory doing its work."""

from collections.abc import Iterable, Sequence

import numpy as np

from flyball_collector.diagnosis.claims import Claims
from flyball_collector.diagnosis.health.growth import Growth
from flyball_collector.diagnosis.kinds import BY_NAME, EventKind
from flyball_collector.diagnosis.view import View

KIND = BY_NAME["gpu_ecc"]

_RECENT_SECONDS = 3600.0


class EccDetector:
    """The level counts, not only its growth: errors that were there before the first look are errors too."""

    name = "ecc"
    kinds: Sequence[EventKind] = (KIND,)
    needs: Sequence[str] = ("gpu_ecc_uncorrected_errors_total", "gpu_ecc_uncorrected_errors_lifetime_total")

    def __init__(self) -> None:
        self._lifetime = Growth(_RECENT_SECONDS, 12)

    def observe(self, view: View) -> Iterable[Claims]:
        """Errors since the driver was loaded, or growth of the lifetime count where the driver tells only that."""
        volatile = view.gpu("gpu_ecc_uncorrected_errors_total")
        lifetime = view.gpu("gpu_ecc_uncorrected_errors_lifetime_total")
        corrected = view.gpu("gpu_ecc_corrected_errors_total")
        grown = self._lifetime.add(view.gpus, lifetime, view.now)
        enters = (volatile > 0) | (grown > 0)  # unknown is not above zero

        def words(place: int) -> str:
            counts = []
            if volatile[place] > 0:
                counts.append(f"{volatile[place]:.0f} since the driver was loaded")
            if grown[place] > 0:
                counts.append(f"{grown[place]:.0f} in the last hour")
            told = f"memory errors that could not be corrected: {', '.join(counts)}"
            return f"{told}; results of the run may be wrong: drain and reset the GPU"

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
