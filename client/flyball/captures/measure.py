"""Facts for the audit, measured on demand."""

from pathlib import Path
from typing import Any

from flyball.captures.capture_run import CaptureRun, CaptureUnavailable
from flyball.captures.sync_calls import SyncCalls
from flyball.measuring.evidence_text import evidence_yaml
from flyball.measuring.gpu_profile import ACTIVE_STEPS, WARM_UP_STEPS
from flyball.measuring.measurement import SYNC_STEPS, Measurement


class MeasureCapture:
    """A recorder that ends by itself. Its steps include those with a profiler and with warnings on a GPU."""

    def __init__(self, steps: int) -> None:
        self.steps = steps + WARM_UP_STEPS + ACTIVE_STEPS + SYNC_STEPS
        self._measurement = Measurement(steps, SyncCalls())
        self._run: Any = None

    def begin(self, run: CaptureRun) -> None:
        """Begin to measure."""
        self._run = run
        self._measurement.boundary(self._run)

    def step(self, run: CaptureRun) -> bool:  # noqa: ARG002  it is the one that `begin` got
        """Measure a step. Return True when all is known; on a CPU that is earlier."""
        return self._measurement.boundary(self._run)

    def end(self, folder: Path) -> tuple[Path, str]:
        """Write the evidence file."""
        measured = self._measurement.result(self._run)
        if measured is None:
            raise CaptureUnavailable("no step ended in time; ask for fewer steps")
        path = folder / "evidence.yaml"
        path.write_text(evidence_yaml(measured), encoding="utf-8")
        return path, f"{measured.steps} steps were measured."

    def abort(self) -> None:
        """Stop measuring."""
        self._measurement.abort()
