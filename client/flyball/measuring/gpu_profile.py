"""Records the kernels and copies of a GPU for a few steps with torch.profiler."""

from __future__ import annotations

from time import perf_counter_ns

from flyball.measuring.gpu_activity import activity_facts
from flyball.training.loaded_modules import initialised_cuda, loaded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from flyball.measuring.gpu_activity import Activity

WARM_UP_STEPS = 1  # starting CUPTI takes up to seconds; the profiler throws the first step away
ACTIVE_STEPS = 3


class GpuProfile:
    """A profile of three steps. It does nothing where CUDA is not used, or where the script has a profiler."""

    def __init__(self) -> None:
        self.facts: dict[str, float] = {}
        self._profile: Any = None
        self._steps = 0
        self._began = 0

    def begin(self) -> bool:
        """Start at a boundary between steps. Return False if there is nothing to record."""
        torch = loaded("torch")
        if torch is None or initialised_cuda() is None or torch.autograd._profiler_enabled():
            return False
        profiler = torch.profiler
        plan = profiler.schedule(wait=0, warmup=WARM_UP_STEPS, active=ACTIVE_STEPS, repeat=1)
        self._profile = profiler.profile(activities=[profiler.ProfilerActivity.CUDA], schedule=plan)
        self._profile.start()
        return True

    def step(self) -> bool:
        """Note the end of a step. Return True when the profile is complete."""
        self._steps += 1
        if self._steps == WARM_UP_STEPS + ACTIVE_STEPS:
            window = perf_counter_ns() - self._began
            profile, self._profile = self._profile, None
            profile.stop()
            self.facts = activity_facts(_activities(profile), window / 1000)
            return True
        self._profile.step()
        self._began = self._began or perf_counter_ns()
        return False

    def abort(self) -> None:
        """Stop without a result."""
        profile, self._profile = self._profile, None
        if profile is not None:
            profile.stop()


def _activities(profile: Any) -> list[Activity]:
    """Return what the device did; times are in microseconds."""
    return [
        (event.name, event.time_range.start, event.time_range.end)
        for event in profile.events()
        if "CPU" not in str(event.device_type)
    ]
