"""Forecasts of the bottleneck of a measured host: the recommended configuration, and a hierarchical learner."""

from collections.abc import Iterator

from msgspec import Struct

from flyball.host.bottleneck_forecast import BottleneckForecast, HostRates, forecast_bottleneck
from flyball.host.hardware_profile import HardwareProfile
from flyball.host.learner_work import HostWork
from flyball_planner.configurations.configuration import Configuration
from flyball_planner.configurations.streaming import TOKEN_BYTES
from flyball_planner.precision import PRECISIONS
from flyball_reports.figures import count

SAMPLES = 100_000
FLOPS_A_TOKEN = 6.0  # for each parameter: two forward, four backward


class HostBottleneck(Struct, frozen=True):
    """A workload and its forecast."""

    workload: str
    forecast: BottleneckForecast


def bottlenecks(profile: HardwareProfile, chosen: Configuration | None) -> Iterator[HostBottleneck]:
    """Yield the forecasts of a host whose speed was measured."""
    if profile.benchmarks is None:
        return
    if chosen is not None and profile.gpus:
        rates = HostRates.of(profile.processor, profile.memory, profile.folder, profile.benchmarks, profile.unavailable)
        yield HostBottleneck(f"the {chosen.name} configuration", forecast_bottleneck(rates, _work(chosen)))
    learner = f"a hierarchical learner over {count(SAMPLES)} samples of 500 tokens"
    yield HostBottleneck(learner, profile.predict_bottleneck(SAMPLES))


def _work(chosen: Configuration) -> HostWork:
    """Return matrix products and reading of a configuration; its time without losses is larger than either."""
    tokens = float(chosen.training.tokens)
    return HostWork(
        read_bytes=tokens * TOKEN_BYTES,
        device_flops=FLOPS_A_TOKEN * chosen.model.parameters * tokens,
        precision=PRECISIONS[chosen.training.precision].compute.value,
    )
