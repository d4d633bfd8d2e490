"""A trace of some steps by torch.profiler: without stacks and shapes, which cost memory and time."""

import gc
from pathlib import Path
from typing import Any

from flyball.captures.capture_run import CaptureRun, CaptureUnavailable
from flyball.captures.delivery import compress
from flyball.captures.warning_filters import quiet
from flyball.training.loaded_modules import initialised_cuda, loaded

WARM_UP_STEPS = 1
"""CUPTI's start takes up to seconds; the profiler records a step and throws it away."""


class Trace:
    """A recorder. PyTorch allows one profiler in a process, so nothing is begun where the script has its own."""

    def __init__(self, steps: int) -> None:
        self.steps = steps + WARM_UP_STEPS
        self._active = steps
        self._profile: Any = None

    def begin(self, run: CaptureRun) -> None:  # noqa: ARG002  the signature of recorders
        """Start the profiler."""
        torch = loaded("torch")
        if torch is None or not hasattr(torch, "profiler"):
            raise CaptureUnavailable("PyTorch is not imported in this process, so there is nothing to trace")
        if _has_own_profiler(torch):
            raise CaptureUnavailable("the script has a torch.profiler of its own, and PyTorch allows only one")
        profiler = torch.profiler
        activities = [profiler.ProfilerActivity.CPU]
        if initialised_cuda() is not None:
            activities.append(profiler.ProfilerActivity.CUDA)
        with quiet():
            plan = profiler.schedule(wait=0, warmup=WARM_UP_STEPS, active=self._active, repeat=1)
            profile = profiler.profile(activities=activities, schedule=plan)
            profile.start()
            self._profile = profile

    def step(self, run: CaptureRun) -> bool:  # noqa: ARG002  the signature of recorders
        """Mark the end of a step in the trace."""
        with quiet():
            self._profile.step()
        return False

    def end(self, folder: Path) -> tuple[Path, str]:
        """Stop, and write the trace in the format of chrome://tracing and Perfetto."""
        profile, self._profile = self._profile, None
        plain, packed = folder / "trace.json", folder / "trace.json.gz"
        with quiet():
            profile.stop()
            profile.export_chrome_trace(str(plain))
        compress(plain, packed)
        return packed, ""

    def abort(self) -> None:
        """Stop without a result."""
        profile, self._profile = self._profile, None
        if profile is not None:
            with quiet():
                try:
                    profile.stop()
                except Exception:  # noqa: BLE001  the reason of the abort is reported already
                    return


def _has_own_profiler(torch: Any) -> bool:
    """Return True if the script has a profiler, running or waiting for its first step: ours would make it fail."""
    if torch.autograd._profiler_enabled():
        return True
    kinds = {torch.profiler.profile, torch.autograd.profiler.profile}
    return any(type(each) in kinds and not _is_over(each, torch) for each in gc.get_objects())


def _is_over(profile: Any, torch: Any) -> bool:
    """Return True if a profiler has its results and no schedule by which it would start again."""
    plan = getattr(torch.profiler.profiler, "_default_schedule_fn", None)
    has_plan = getattr(profile, "schedule", plan) is not plan
    recorded = getattr(profile, "profiler", profile)
    return not has_plan and getattr(recorded, "kineto_results", None) is not None
