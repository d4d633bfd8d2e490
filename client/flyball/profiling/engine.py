"""`ProfilingEngine`: measures this process and its children while it runs."""

import math
import os
import sys
import weakref
from pathlib import Path
from types import TracebackType

from flyball.profiling.allowed_resources import allowed_cpus, own_groups
from flyball.profiling.api_latency import ApiLatency
from flyball.profiling.gpu_memory import LIBRARY, GpuMemory
from flyball.profiling.portable_process import PortableProcess
from flyball.profiling.process_tree import ProcessTree
from flyball.profiling.profile_file import profile_document, write_profile
from flyball.profiling.profile_record import ProfileRecord
from flyball.profiling.profiling_summary import ProfilingSummary
from flyball.profiling.program_counts import ProfiledLevel, ProgramCounts
from flyball.profiling.resource_snapshot import ResourceSnapshot
from flyball.profiling.sampler import ProfileSampler, TreeSource
from flyball.profiling.sampling_thread import SamplingThread, kernel_peaks
from flyball.profiling.tree_ledger import TreeLedger
from flyball_agent.probes.round_trip import parse_target

LEAST_INTERVAL, LONGEST_INTERVAL = 0.01, 3600.0


class ProfilingEngine:
    """Measures this process and its children from `start()` to `stop()`, in one thread that wakes at each interval.

    It needs no agent, no collector and no package. `api_url` (an http(s) URL or host:port) is measured too, in a second
    thread. `start()` while it runs changes nothing; after `stop()` it begins a new measurement. `stop()` may be called
    again and returns the same summary. In a forked child it does nothing.

    >>> with ProfilingEngine(sampling_interval=0.1) as engine:
    ...     engine.add_samples(100)
    >>> engine.stop().samples
    100
    """

    def __init__(
        self, sampling_interval: float = 1.0, *, api_url: str | None = None, nvml_library: str = LIBRARY
    ) -> None:
        self._interval = checked_interval(sampling_interval)
        if api_url is not None:
            parse_target(api_url)  # raises for a wrong address
        self._api_url = api_url
        self._api: ApiLatency | None = None
        self._library = nvml_library
        self._counts = ProgramCounts()
        self._thread: SamplingThread | None = None
        self._summary: ProfilingSummary | None = None

    @property
    def running(self) -> bool:
        """True between `start()` and `stop()`, in the process that called `start()`."""
        return self._thread is not None and self._summary is None and self._thread.in_this_process()

    def start(self) -> "ProfilingEngine":
        """Start to measure."""
        if self._thread is not None and self._summary is None:  # it runs, or was inherited by a fork
            return self
        self._summary = None
        self._counts.reset()
        self._api = ApiLatency(self._api_url) if self._api_url is not None else None
        self._thread = self._new_thread(self._api, self._counts, self._library)
        if self._api is not None:
            self._api.start()
        self._thread.start()
        return self

    def stop(self) -> ProfilingSummary:
        """End the measurement and return its summary."""
        if self._thread is not None and self.running:
            self._thread.finish()
            if self._api is not None:
                self._api.stop()
        if self._summary is None and self._thread is not None:
            self._summary = self.summary()
        return self.summary()

    def summary(self) -> ProfilingSummary:
        """Return the summary so far, or that of the finished measurement."""
        if self._summary is not None:
            return self._summary
        if self._thread is None:
            return ProfilingSummary(0.0, self._interval, 0, unavailable={"all": "start() was not called"})
        return self._thread.summary(self._counts.samples(), self._counts.items(), _levels_of_run())

    def snapshots(self) -> list[ResourceSnapshot]:
        """Return the snapshots so far; an even selection of 3,600 if there are more."""
        return [] if self._thread is None else self._thread.record.snapshots()

    def add_samples(self, number: int = 1) -> None:
        """Add training samples that were processed, for the memory per sample."""
        self._counts.add_samples(number)

    def level(self, name: str) -> ProfiledLevel:
        """Return a level of a hierarchical learner. Levels of an open run are known without it."""
        return ProfiledLevel(self._counts, name)

    def export_json(self, path: str | os.PathLike[str]) -> None:
        """Write summary and snapshots. Raise ProfileNotWritten, with the reason, if that is not possible."""
        write_profile(Path(path), profile_document(self.summary(), self.snapshots()))

    def _new_thread(self, api: ApiLatency | None, counts: ProgramCounts, library: str) -> SamplingThread:
        """Return a thread without a reference to the engine: it ends when nobody has the engine any more."""
        engine = weakref.ref(self)

        def build() -> ProfileSampler:
            source: TreeSource = ProcessTree(os.getpid()) if has_proc() else PortableProcess()
            return ProfileSampler(source, TreeLedger(), api=api, gpus=GpuMemory(library), levels=counts.items)

        record = ProfileRecord(self._interval, allowed_cpus(own_groups()))
        return SamplingThread(build, record, self._interval, peaks=kernel_peaks, wanted=lambda: engine() is not None)

    def __enter__(self) -> "ProfilingEngine":
        """Start to measure."""
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the measurement."""
        self.stop()


def has_proc() -> bool:
    """Return True on systems with Linux's `/proc`."""
    return Path("/proc/self/stat").exists()


def checked_interval(seconds: float) -> float:
    """Return the interval. Raise ValueError if it is not a number within the limits."""
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not math.isfinite(seconds):
        raise ValueError(f"sampling_interval must be a number of seconds, not {seconds!r}")
    if not LEAST_INTERVAL <= seconds <= LONGEST_INTERVAL:
        limits = f"{LEAST_INTERVAL:g} to {LONGEST_INTERVAL:g}"
        raise ValueError(f"sampling_interval must be {limits} seconds, not {seconds!r}")
    return float(seconds)


def _levels_of_run() -> dict[str, float]:
    """Return the rates of the levels of the open run, if the program has opened one."""
    if "flyball.training.opening" not in sys.modules:
        return {}
    from flyball.training.opening import current_run

    run = current_run()
    return {} if run is None else dict(run.summary().levels)
