"""`HardwareAnalyzerV2`: what this machine has and, if asked, how fast it is."""

import os
from collections.abc import Callable, Collection
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from flyball.extras import advice, missing
from flyball.host.benchmarks.benchmark_names import BENCHMARKS, USUAL, BenchmarkProgress, checked_names
from flyball.host.benchmarks.benchmark_targets import BenchmarkTargets
from flyball.host.hardware_profile import HardwareProfile
from flyball.host.places import HostPlaces

if TYPE_CHECKING:
    from flyball.host.bottleneck_forecast import BottleneckForecast

_NEEDED = ("google.protobuf", "msgspec", "pynvml")


class HardwareAnalyzerV2:
    """Reads the parts of this machine, their limits and settings, and measures their speed.

    `folder` is where a training would run: its disk is measured. `mongodb_url`, `service_url` and `download_url` name
    the services to measure; no other machine is contacted unless named here.

    >>> profile = HardwareAnalyzerV2().analyze_full(benchmarks=False)
    >>> profile.cpu_cores >= 1 and profile.ram_gb > 0
    True
    >>> profile.disk_write_speed is None  # analyze_full() measures it
    True
    """

    def __init__(
        self,
        folder: str | os.PathLike[str] = ".",
        *,
        mongodb_url: str | None = None,
        service_url: str | None = None,
        download_url: str | None = None,
        places: HostPlaces | None = None,
    ) -> None:
        absent = [module for module in missing("agent") if module in _NEEDED]
        if absent:
            raise ImportError(advice("HardwareAnalyzerV2", "agent", absent))
        self._places = places or HostPlaces(folder=Path(folder))
        self._targets = BenchmarkTargets.chosen(mongodb_url, service_url, download_url, os.environ)
        self._profile: HardwareProfile | None = None

    def analyze_full(
        self,
        *,
        benchmarks: bool | Collection[str] = USUAL,
        progress: Callable[[BenchmarkProgress], None] | None = None,
    ) -> HardwareProfile:
        """Return the profile with measured speeds, in about 6 s. GPUs are measured only with `benchmarks=True`.

        `benchmarks` may also name those to run; with False, nothing is measured. `progress` is called before and after
        each benchmark. What is unknown is None, with its reason in `unavailable`.
        """
        from flyball.host.machine_reading import read_machine_profile

        names = checked_names(BENCHMARKS if benchmarks is True else benchmarks or ())
        if not self._places.this_machine:
            names = ()  # benchmarks would measure this machine instead
        profile = read_machine_profile(self._places)
        if names:
            from flyball.host.benchmarks.benchmark_run import run_benchmarks

            measured, reasons = run_benchmarks(profile, self._targets, names, progress)
            profile = replace(profile, benchmarks=measured, unavailable={**profile.unavailable, **reasons})
        self._profile = profile
        return profile

    def predict_bottleneck(self, dataset_size: int, chunk_size: int = 15, num_nodes: int = 4) -> "BottleneckForecast":
        """Return what will limit a hierarchical learner here, by the last profile, which is made if there is none."""
        profile = self._profile or self.analyze_full()
        return profile.predict_bottleneck(dataset_size, chunk_size, num_nodes)
