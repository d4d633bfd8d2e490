"""Calls that make the host wait for the GPU, with file and line, as PyTorch's own debug mode reports them.

The mode "warn" is used, never "error". It misses calls in torch.distributed and torch.sparse (its documentation).
"""

import os
import sys
import warnings
from pathlib import Path
from typing import Any, TextIO

from flyball.captures.capture_run import CaptureRun, CaptureUnavailable
from flyball.captures.delivery import write_json
from flyball.captures.warning_filters import put_first, take_out
from flyball.training.loaded_modules import initialised_cuda, loaded

_MESSAGE = "called a synchronizing CUDA operation"
_WARN = 1
_MOST_PLACES = 1000
_BETWEEN = (__file__, warnings.__file__)  # on the way from a call in PyTorch to its count
MISSED = "calls in torch.distributed and torch.sparse are not seen"


class SyncCalls:
    """Counts synchronising calls between `begin` and `end`. The script's own filters of warnings stay as they are."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}
        self._cuda: Any = None
        self._filter: Any = None
        self._show: Any = None
        self._replacement: Any = None

    def begin(self) -> None:
        """Begin to count. Raise `CaptureUnavailable` where nothing can be seen."""
        cuda = initialised_cuda()
        if cuda is None:
            raise CaptureUnavailable("CUDA is not initialised in this process, so synchronising calls cannot be seen")
        if cuda.get_sync_debug_mode():
            raise CaptureUnavailable("the script uses torch.cuda.set_sync_debug_mode itself")
        self._cuda = cuda
        self._filter = put_first("always", f".*{_MESSAGE}")
        self._show = warnings.showwarning
        self._replacement = warnings.showwarning = self._count
        cuda.set_sync_debug_mode(_WARN)

    def end(self) -> dict[str, int]:
        """Restore everything. Return the number of calls by place, `FILE:LINE`, the most frequent first."""
        cuda, self._cuda = self._cuda, None
        if cuda is not None:
            cuda.set_sync_debug_mode(0)
            if warnings.showwarning is self._replacement:  # the script may have set its own meanwhile
                warnings.showwarning = self._show
            take_out(self._filter)
        return dict(sorted(self.counts.items(), key=lambda item: -item[1]))

    def _count(
        self,
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        """Count one of PyTorch's warnings; show all others as before."""
        if _MESSAGE not in str(message):
            self._show(message, category, filename, lineno, file, line)
            return
        place = _place_in_script(filename, lineno)
        if place in self.counts or len(self.counts) < _MOST_PLACES:
            self.counts[place] = self.counts.get(place, 0) + 1


def _place_in_script(filename: str, lineno: int) -> str:
    """Return the line of the script that led to a call: a tensor that is printed is read inside of PyTorch."""
    folder = os.path.dirname(getattr(loaded("torch"), "__file__", "") or "") + os.sep  # noqa: PTH120  for each call
    frame: Any = sys._getframe(1) if filename.startswith(folder) else None
    while frame is not None:
        code = frame.f_code
        if code.co_filename not in _BETWEEN and not code.co_filename.startswith(folder):
            return f"{code.co_filename}:{frame.f_lineno}"
        frame = frame.f_back
    return f"{filename}:{lineno}"


class SyncCapture:
    """A recorder of synchronising calls."""

    def __init__(self, steps: int) -> None:
        self.steps = steps
        self._calls = SyncCalls()
        self._done = 0

    def begin(self, run: CaptureRun) -> None:  # noqa: ARG002  the signature of recorders
        """Begin to count."""
        self._calls.begin()

    def step(self, run: CaptureRun) -> bool:  # noqa: ARG002  the signature of recorders
        """Count a step."""
        self._done += 1
        return False

    def end(self, folder: Path) -> tuple[Path, str]:
        """Write the calls by place."""
        counts = self._calls.end()
        places = [
            {"place": place, "calls": count, "calls_per_step": count / max(1, self._done)}
            for place, count in counts.items()
        ]
        path = folder / "syncs.json"
        write_json(path, {"steps": self._done, "calls": sum(counts.values()), "places": places, "missed": MISSED})
        total = sum(counts.values())
        return path, f"{total / max(1, self._done):.1f} synchronising calls a step at {len(counts)} places."

    def abort(self) -> None:
        """Stop counting."""
        self._calls.end()
