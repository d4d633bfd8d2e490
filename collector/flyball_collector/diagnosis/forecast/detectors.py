"""The forecasts in the order they are asked: the leak looks at what the exhaustion keeps."""

from flyball_collector.diagnosis.detector import Detector
from flyball_collector.diagnosis.forecast.disk import DiskFull
from flyball_collector.diagnosis.forecast.filling import Rules
from flyball_collector.diagnosis.forecast.leak import MemoryLeak
from flyball_collector.diagnosis.forecast.memory import SELDOM_RULES, MemoryExhaustion
from flyball_collector.diagnosis.forecast.pressure import MemoryPressure
from flyball_collector.diagnosis.forecast.settings import ForecastSettings
from flyball_collector.diagnosis.forecast.stuck import StuckTelemetry
from flyball_collector.diagnosis.forecast.thermal import ThermalSlowdown
from flyball_collector.diagnosis.runs.run_view import Runs
from flyball_collector.diagnosis.throttled import Throttled


def build_forecasts(
    settings: ForecastSettings, seldom: Rules | None = SELDOM_RULES, runs: Runs | None = None
) -> list[Detector]:
    """Every forecast; `seldom` is how memory is judged where readings are far apart."""
    memory = MemoryExhaustion(settings, seldom, runs)
    return [
        memory,
        MemoryLeak(memory, settings),
        MemoryPressure(settings),
        Throttled(DiskFull(settings), 4, 1),
        Throttled(ThermalSlowdown(settings), 2),
        Throttled(StuckTelemetry(settings), 4),
    ]
