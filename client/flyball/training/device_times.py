"""Measures how long a GPU works on each part of a step, with events that are read later.

The host runs ahead of the GPU: its clock shows when work was started, not how long it took.
"""

from __future__ import annotations

from flyball.training.loaded_modules import initialised_cuda, loaded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

WHOLE_STEP = ""
"""The name under which the time of the whole step is returned."""

_MAX_EVENTS = 32  # of a sampled step: on the host of an H100 each takes 13 µs, together 0.04 % of a second
_MAX_FAILURES = 3


class DeviceTimes:
    """Samples one step at a time. Without CUDA, nothing but `recording` is ever looked at between reports."""

    __slots__ = ("_events", "_failures", "_names", "_used", "recording")

    def __init__(self) -> None:
        self.recording = False  # True from the sampled step's first boundary to its last: then mark() and end() count
        self._events: list[Any] = []  # created once, used again
        self._used = 0
        self._names: list[str] = []
        self._failures = 0

    def begin(self) -> None:
        """Sample the step that begins now, unless the times of the previous sample are still to come."""
        if self._used or self.recording or self._failures >= _MAX_FAILURES:
            return
        try:
            self.recording = self._record()
        except Exception:  # noqa: BLE001  an error of the device is the training's to find
            self._fail()

    def mark(self, name: str) -> None:
        """End a part of the sampled step. The name `WHOLE_STEP` ends one that belongs to no section."""
        if not self.recording:
            return
        try:
            self._names.append(name)
            if self._used > _MAX_EVENTS or not self._record():
                self._forget()
        except Exception:  # noqa: BLE001  as above
            self._fail()

    def enter(self, depth: int) -> None:
        """Begin a section. A step with sections inside of sections is not sampled: their times overlap."""
        if depth:
            self._forget()
        else:
            self.mark(WHOLE_STEP)

    def end(self) -> None:
        """End the sampled step."""
        self.mark(WHOLE_STEP)
        self.recording = False

    def restart(self) -> None:
        """Sample from here on, because the training has rested since the sampled step began."""
        self._forget()
        self.begin()

    def take(self) -> dict[str, float] | None:
        """Return the seconds of each name in the sampled step, once, when the GPU has finished it."""
        if self.recording or not self._used:
            return None
        try:
            cuda = initialised_cuda()
            if cuda is None or cuda.is_current_stream_capturing() or not self._events[self._used - 1].query():
                return None
            seconds = self._seconds()
        except Exception:  # noqa: BLE001  as above
            self._fail()
            return None
        self._forget()
        return seconds

    def _record(self) -> bool:
        """Record an event on the current stream. Return False where that is not allowed."""
        cuda, torch = initialised_cuda(), loaded("torch")
        if cuda is None or torch is None or torch.compiler.is_compiling() or cuda.is_current_stream_capturing():
            return False
        if self._used == len(self._events):
            self._events.append(cuda.Event(enable_timing=True))
        self._events[self._used].record()
        self._used += 1
        return True

    def _seconds(self) -> dict[str, float] | None:
        events = self._events
        found = {WHOLE_STEP: events[0].elapsed_time(events[self._used - 1]) * 1e-3}
        for index, name in enumerate(self._names):
            taken = events[index].elapsed_time(events[index + 1]) * 1e-3
            if taken < 0:  # the script uses several streams, and this one was ahead
                return None
            if name != WHOLE_STEP:
                found[name] = found.get(name, 0.0) + taken
        return found

    def _forget(self) -> None:
        self.recording = False
        self._used = 0
        self._names.clear()

    def _fail(self) -> None:
        """Let go of the events: they may belong to another device than the current one."""
        self._forget()
        self._events = []
        self._failures += 1


def section_times(host: dict[str, int], whole: int, steps: int, device: dict[str, float]) -> dict[str, int]:
    """Return the nanoseconds of sections, those of the sampled step by the GPU's time for it, times the steps.

    `host` has the times that the host measured, `whole` is the time of all steps. Sections that the sampled step did
    not have, such as a checkpoint, stay as they are. The sum stays at most the whole.
    """
    found = {name: int(device[name] * steps * 1e9) for name in host if name in device and name != WHOLE_STEP}
    total = sum(found.values())
    rest = whole - sum([taken for name, taken in host.items() if name not in found])
    if not total or rest <= 0:
        return host
    scale = min(1.0, rest / total)  # steps after the sampled one may have been faster
    return {name: int(found[name] * scale) if name in found else taken for name, taken in host.items()}
