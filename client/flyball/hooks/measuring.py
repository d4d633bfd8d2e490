"""`flyball run --measure`: measures the run of rank 0 and writes the evidence file when the steps are over."""

from __future__ import annotations

import atexit
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from flyball.measuring.measurement import Measurement
    from flyball.training.run import Run

MEASURE, EVIDENCE = "FLYBALL_MEASURE", "FLYBALL_EVIDENCE"
_WARM_UP_STEPS = 5  # compilation, tuning of kernels, and the first batches of the workers
_LEAST_STEPS = 5  # of a run that ends early


def measure_if_asked(run: Run) -> None:
    """Begin to measure a run of rank 0, if the command line asks for it."""
    text, path = os.environ.get(MEASURE, ""), os.environ.get(EVIDENCE, "")
    if not path or run.rank != 0 or not (text.isascii() and text.isdecimal()):
        return
    from flyball.captures.sync_calls import SyncCalls
    from flyball.measuring.measurement import Measurement

    order = Order(Measurement(int(text), SyncCalls()), path)
    run.at_boundary(order)
    atexit.register(order.end_early, run, os.getpid())


class Order:
    """A measurement in progress. It is called at each boundary between steps."""

    def __init__(self, measurement: Measurement, path: str) -> None:
        self._measurement = measurement
        self._path = path
        self._skipped = 0
        self._over = False

    def __call__(self, run: Run) -> None:
        """Measure at this boundary, and at the next one again unless all is measured."""
        if self._skipped < _WARM_UP_STEPS:
            self._skipped += 1
        elif self._measurement.boundary(run):
            self._write(run)
            return
        run.at_boundary(self)

    def end_early(self, run: Run, owner: int) -> None:
        """Write what is known when the process ends before all steps were measured."""
        if os.getpid() == owner and not self._over:
            self._write(run, _LEAST_STEPS)

    def _write(self, run: Run, least: int = 1) -> None:
        """Write the file, all of it or nothing."""
        from flyball.measuring.evidence_text import evidence_yaml

        self._over = True
        measured = self._measurement.result(run)
        if measured is None or measured.steps < least:
            return
        temporary = f"{self._path}.{os.getpid()}.part"
        with open(temporary, "w", encoding="utf-8") as file:  # noqa: PTH123  pathlib is slow
            file.write(evidence_yaml(measured))
        os.replace(temporary, self._path)  # noqa: PTH105  as above
