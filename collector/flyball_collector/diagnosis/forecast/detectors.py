"""The forecasts in the order they are asked: the leak looks at what the exhaustion keeps."""

from flyball_collector.diagnosis.detector import Detector
from flyball_collector.diagnosis.forecast.disk import DiskFull
from flyball_collector.diagnosis.forecast.leak import MemoryLeak
from flyball_collector.diagnosis.forecast.memory import MemoryExhaustion
from flyball_collector.diagnosis.forecast.pressure import MemoryPressure
from flyball_collector.diagnosis.forecast.settings import ForecastSettings
from flyball_collector.diagnosis.forecast.stuck import StuckTelemetry
from flyball_collector.diagnosis.forecast.thermal import ThermalSlowdown


def build_forecasts(settings: ForecastSettings) -> list[Detector]:
    """Every forecast."""
    memory = MemoryExhaustion(settings)
    return [
        memory,
        MemoryLeak(memory, settings),
        MemoryPressure(settings),
        DiskFull(settings),
        ThermalSlowdown(settings),
        StuckTelemetry(settings),
    ]
