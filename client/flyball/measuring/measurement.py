"""Measures a run for some steps: what its time is spent on, whether its memory grows, what waits for the GPU."""

from __future__ import annotations

import os
import platform

from flyball.measuring.gpu_activity import host_bound
from flyball.measuring.gpu_profile import GpuProfile
from flyball.measuring.memory_slope import LEAST_STEPS, steady_growth
from flyball.measuring.run_figures import call_notes, difference, figures_of, run_facts
from flyball.training.allocator import peaks
from flyball.training.loaded_modules import initialised_cuda

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Protocol

    from flyball.training.figures import Figures
    from flyball.training.run import Run

    class SyncPlaces(Protocol):
        """Counts calls that wait for the GPU."""

        def begin(self) -> None:
            """Begin to count. Raise where nothing can be seen."""

        def end(self) -> dict[str, int]:
            """Return the number of calls by place, FILE:LINE."""


SYNC_STEPS = 5
_MOST_PLACES = 200
_PAGE = os.sysconf("SC_PAGE_SIZE")
_NO_SYNCS = "synchronising calls: not measured, because CUDA is not initialised"


class Measured:
    """The result."""

    __slots__ = ("facts", "measured_on", "notes", "steps", "waits")

    def __init__(
        self,
        measured_on: str,
        steps: int,
        facts: dict[str, float],
        notes: list[str],
        waits: dict[str, float] | None = None,
    ) -> None:
        self.measured_on = measured_on
        self.steps = steps
        self.facts = facts
        self.notes = notes
        self.waits = waits  # for the GPU, in each step, by place (FILE:LINE); None was not measured


class Measurement:
    """Called at each boundary between steps: a few steps with a profiler on a GPU, the steps, a few with warnings.

    The profiler and the warnings cost time, so the steps are measured without them.
    """

    def __init__(self, steps: int, syncs: SyncPlaces) -> None:
        self.steps = steps
        self._profile = GpuProfile()
        self._syncs = syncs
        self._phase = self._begin_profile
        self._before: Figures | None = None
        self._after: Figures | None = None
        self._first = 0
        self._resident: list[int] = []
        self._allocated: list[int] = []
        self._counting = 0  # steps whose synchronising calls are still to be counted
        self._sync_note = _NO_SYNCS
        self._waits: dict[str, float] | None = None

    def boundary(self, run: Run) -> bool:
        """Do what is due at this boundary. Return True at the last one."""
        return self._phase(run)

    def result(self, run: Run) -> Measured | None:
        """Return what was measured, also before the last boundary; None if no step was."""
        self.abort()
        if self._before is None:
            return None
        figures = difference(self._after or figures_of(run), self._before)
        if figures.steps == 0:
            return None
        facts = run_facts(figures, on_host=initialised_cuda() is None)
        facts.update(self._profile.facts)
        bound = host_bound(facts)
        if bound is not None:
            facts["host_bound_ratio"] = bound
        facts.update(_memory_facts(self._resident, self._allocated))
        facts.update(_peak())
        steps = f"steps {self._first + 1} to {self._first + figures.steps} of run {run.name}"
        notes = [*call_notes(figures), self._sync_note]
        return Measured(f"{platform.node()}, {_device()}, {steps}", figures.steps, facts, notes, self._waits)

    def abort(self) -> None:
        """Leave nothing switched on."""
        self._profile.abort()
        if self._counting:
            self._end_syncs()

    def _begin_profile(self, run: Run) -> bool:
        if self._profile.begin():
            self._phase = self._profile_step
            return False
        return self._begin_steps(run)

    def _profile_step(self, run: Run) -> bool:
        return self._begin_steps(run) if self._profile.step() else False

    def _begin_steps(self, run: Run) -> bool:
        self._before, self._first = figures_of(run), run.last_step
        self._phase = self._count_step
        return False

    def _count_step(self, run: Run) -> bool:
        resident = resident_bytes()
        if resident is not None:
            self._resident.append(resident)
        cuda = initialised_cuda()
        if cuda is not None:
            self._allocated.append(cuda.memory_allocated())
        if run.last_step < self._first + self.steps:
            return False
        self._after = figures_of(run)
        return self._begin_syncs()

    def _begin_syncs(self) -> bool:
        try:
            self._syncs.begin()
        except Exception as reason:  # noqa: BLE001  the file has the reason
            self._sync_note = f"synchronising calls: not measured: {reason}"
            return True
        self._counting = SYNC_STEPS
        self._phase = self._sync_step
        return False

    def _sync_step(self, run: Run) -> bool:  # noqa: ARG002  as the other phases
        if self._counting > 1:
            self._counting -= 1
            return False
        self._end_syncs()
        return True

    def _end_syncs(self) -> None:
        counted = SYNC_STEPS - self._counting + 1
        self._counting = 0
        places = list(self._syncs.end().items())[:_MOST_PLACES]
        self._waits = {place: count / counted for place, count in places}
        self._sync_note = "synchronising calls in torch.distributed and torch.sparse are not seen"


def resident_bytes() -> int | None:
    """Return the resident memory of this process, or None where the kernel does not show it."""
    try:
        with open("/proc/self/statm", "rb") as file:  # noqa: PTH123  pathlib is slow
            return int(file.read().split()[1]) * _PAGE
    except (OSError, ValueError, IndexError):
        return None


def _memory_facts(resident: list[int], allocated: list[int]) -> dict[str, float]:
    found = {}
    for name, readings in (("host", resident), ("gpu", allocated)):
        growth = steady_growth(readings) if len(readings) >= LEAST_STEPS else None
        if growth is not None:
            found[f"{name}_memory_growth_bytes_per_step"] = growth
    return found


def _peak() -> dict[str, float]:
    """Return the share of the GPU's memory that the allocator has held at its peak, if there is one."""
    cuda, (_, reserved, _) = initialised_cuda(), peaks()
    if cuda is None or reserved is None:
        return {}
    return {
        "gpu_memory_used_ratio": min(1.0, reserved / cuda.get_device_properties(cuda.current_device()).total_memory)
    }


def _device() -> str:
    cuda: Any = initialised_cuda()
    return str(cuda.get_device_name()) if cuda is not None else f"{os.cpu_count()} CPUs"
