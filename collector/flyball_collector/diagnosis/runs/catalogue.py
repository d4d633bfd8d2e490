"""Every detector of runs and ranks, in the order they are asked."""

from flyball_collector.diagnosis.detector import Detector
from flyball_collector.diagnosis.runs.figures import RunBook
from flyball_collector.diagnosis.runs.hang import HangDetector, SlowStartDetector
from flyball_collector.diagnosis.runs.losses import LossDetector
from flyball_collector.diagnosis.runs.paces import Paces, PaceTaker
from flyball_collector.diagnosis.runs.run_view import Runs
from flyball_collector.diagnosis.runs.settings import RunSettings
from flyball_collector.diagnosis.runs.shares import SharesDetector
from flyball_collector.diagnosis.runs.slow import SlowDetector
from flyball_collector.diagnosis.runs.stragglers import StragglerDetector
from flyball_collector.diagnosis.throttled import Throttled


def run_detectors(settings: RunSettings, runs: Runs) -> list[Detector]:
    """One of each."""
    paces = Paces(runs, settings.slower_ratio)
    return [
        Throttled(HangDetector(settings, runs), 5, 1),
        Throttled(SlowStartDetector(settings, runs), 5, 2),
        PaceTaker(paces),
        StragglerDetector(settings, paces),
        SlowDetector(settings, paces),
        LossDetector(runs),
        SharesDetector(settings, runs),
        RunBook(runs),
    ]
