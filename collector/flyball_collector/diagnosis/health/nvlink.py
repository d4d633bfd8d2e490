"""Detects NVLinks that are down, or have too many recoveries and replays."""

from collections.abc import Iterable, Sequence

import numpy as np

from flyball_collector.diagnosis.claims import Claims
from flyball_collector.diagnosis.health.growth import Growth
from flyball_collector.diagnosis.health.settings import HealthSettings
from flyball_collector.diagnosis.kinds import BY_NAME, EventKind
from flyball_collector.diagnosis.subject_arrays import SubjectArrays
from flyball_collector.diagnosis.view import View

KIND = BY_NAME["nvlink_down"]

_SECONDS = 600.0


class NvlinkDetector:
    """Compares a GPU's links with what it had before and with its neighbours on the host.

    Boards differ in how many links are wired, so the chip's maximum cannot be the reference. A board without links is
    fine.
    """

    name = "nvlink"
    kinds: Sequence[EventKind] = (KIND,)
    needs: Sequence[str] = ("gpu_nvlink_active_links", "gpu_nvlink_errors_total")

    def __init__(self, settings: HealthSettings) -> None:
        self._settings = settings
        self._kept = SubjectArrays(most=0.0)
        self._recoveries, self._replays = Growth(_SECONDS), Growth(_SECONDS)

    def observe(self, view: View) -> Iterable[Claims]:
        """Report links that were up and are down, and errors of ten minutes."""
        links, active = view.gpu("gpu_nvlink_links"), view.gpu("gpu_nvlink_active_links")
        self._kept.align(view.gpus)
        self._kept["most"] = np.fmax(self._kept["most"], active)
        most = self._kept["most"]
        neighbours = view.largest_by_host(np.where(active > 0, most, np.nan), view.gpus.hosts)[view.gpus.hosts]
        wired = np.where((most > 0) | (active > 0), np.fmax(most, neighbours), 0.0)
        down = np.where(np.isnan(links), wired, np.minimum(links, wired)) - active  # unknown stays unknown
        recoveries = self._recoveries.add(
            view.gpus, view.gpu_count("gpu_nvlink_errors_total", kind="recovery"), view.now
        )
        replays = self._replays.add(view.gpus, view.gpu_count("gpu_nvlink_errors_total", kind="replay"), view.now)
        noisy = (recoveries >= self._settings.nvlink_recoveries) | (replays >= self._settings.nvlink_replays)
        enters = (down > 0) | noisy

        def words(place: int) -> str:
            lost = (
                f"{down[place]:.0f} of {wired[place]:.0f} NVLinks are down" if down[place] > 0 else "all NVLinks are up"
            )
            errors = f"{recoveries[place]:.0f} recoveries and {replays[place]:.0f} replays in 10 minutes"
            return f"{lost}; {errors}; drain the node and inspect the link"

        yield Claims(
            kind=KIND,
            subjects=view.gpus,
            enters=enters,
            stays=enters,
            confidence=np.where(down > 0, 0.95, 0.8),
            known=enters | ~np.isnan(active),
            because=words,
            evidence={"links_down": down, "recoveries": recoveries, "replays": replays},
        )
