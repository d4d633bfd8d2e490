"""Builds all detectors of runs and ranks in the order in which they run."""

from flyball_collector.diagnosis.detector import Detector
from flyball_collector.diagnosis.runs.hang import HangDetector, SlowStartDetector
from flyball_collector.diagnosis.runs.losses import LossDetector
from flyball_collector.diagnosis.runs.periodic_stalls import PeriodicStallDetector
from flyball_collector.diagnosis.runs.run_figures import RunFigureTable
from flyball_collector.diagnosis.runs.run_view import Runs
from flyball_collector.diagnosis.runs.settings import RunSettings
from flyball_collector.diagnosis.runs.shares import SharesDetector
from flyball_collector.diagnosis.runs.slow_ranks import SlowDetector
from flyball_collector.diagnosis.runs.step_times import StepTimeTracker, StepTimeUpdater
from flyball_collector.diagnosis.runs.stragglers import StragglerDetector
from flyball_collector.diagnosis.throttled_detector import ThrottledDetector


def run_detectors(settings: RunSettings, runs: Runs) -> list[Detector]:
    """Build one of each."""
    step_times = StepTimeTracker(runs, settings.slower_ratio)
    return [
        ThrottledDetector(HangDetector(settings, runs), 5, 1),
        ThrottledDetector(SlowStartDetector(settings, runs), 5, 2),
        StepTimeUpdater(step_times),
        StragglerDetector(settings, step_times),
        SlowDetector(settings, step_times),
        LossDetector(runs),
        PeriodicStallDetector(settings, runs),
        SharesDetector(settings, runs),
        RunFigureTable(runs),
    ]
