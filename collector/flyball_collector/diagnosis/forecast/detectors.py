"""Builds the forecasts in the order in which they run: the leak detector reads the history of the memory forecast."""

from flyball_collector.diagnosis.detector import Detector
from flyball_collector.diagnosis.forecast.disk import DiskFull
from flyball_collector.diagnosis.forecast.fill_rules import SPARSE_RULES, FillRules
from flyball_collector.diagnosis.forecast.leak import MemoryLeak
from flyball_collector.diagnosis.forecast.memory import MemoryExhaustion
from flyball_collector.diagnosis.forecast.pressure import MemoryPressure
from flyball_collector.diagnosis.forecast.settings import ForecastSettings
from flyball_collector.diagnosis.forecast.stuck_telemetry import StuckTelemetry
from flyball_collector.diagnosis.forecast.thermal_slowdown import ThermalSlowdown
from flyball_collector.diagnosis.runs.run_view import Runs
from flyball_collector.diagnosis.throttled_detector import ThrottledDetector


def build_forecasts(
    settings: ForecastSettings, sparse_rules: FillRules | None = SPARSE_RULES, runs: Runs | None = None
) -> list[Detector]:
    """Build all forecasts. `sparse_rules` applies to memory with long times between readings."""
    memory = MemoryExhaustion(settings, sparse_rules, runs)
    return [
        memory,
        MemoryLeak(memory, settings),
        MemoryPressure(settings),
        ThrottledDetector(DiskFull(settings), 4, 1),
        ThrottledDetector(ThermalSlowdown(settings), 2),
        ThrottledDetector(StuckTelemetry(settings), 4),
    ]
