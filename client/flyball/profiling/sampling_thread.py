"""The thread that takes the samples of a profile."""

import os
import resource
import threading
import time
from collections.abc import Callable

from flyball.profiling.own_peak import PEAK_UNIT, own_peak_bytes
from flyball.profiling.profile_record import ProfileRecord
from flyball.profiling.profiling_summary import ProfilingSummary
from flyball.profiling.sample_times import seconds_until_next
from flyball.profiling.sampler import ProfileSampler

_JOIN_SECONDS = 2.0  # a driver may hang; the thread is a daemon


class SamplingThread:
    """Samples from `start` to `finish`, or until the measurement is not wanted any more."""

    def __init__(
        self,
        sampler: Callable[[], ProfileSampler],
        record: ProfileRecord,
        interval: float,
        *,
        peaks: Callable[[], tuple[float, ...]] = tuple,
        wanted: Callable[[], bool] = lambda: True,
    ) -> None:
        """Build the sampler in the thread. `peaks` returns peaks of memory that count once they have grown."""
        self.record = record
        self._pid = os.getpid()
        self._build, self._interval = sampler, interval
        self._peaks, self._peaks_at_start = peaks, peaks()
        self._wanted = wanted
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._work, name="flyball-profile", daemon=True)

    def start(self) -> None:
        """Start the thread, and wait for the first sample: what follows is measured."""
        try:
            self._thread.start()
        except RuntimeError as error:  # too many threads
            self.record.add_reason("snapshot", str(error))
        else:
            self._ready.wait(_JOIN_SECONDS)

    def finish(self) -> None:
        """Take the last sample and end the thread."""
        self._stop.set()
        if self._thread.ident is not None:  # it was started
            self._thread.join(_JOIN_SECONDS)
        if self.in_this_process():  # else the lock may be held for ever
            self._add_peaks()  # the last sample may come too late on a busy machine
        if self._thread.is_alive():
            self.record.add_reason("last_snapshot", f"no answer of the kernel or a driver within {_JOIN_SECONDS:g} s")

    def in_this_process(self) -> bool:
        """Return False in a forked child, where the thread does not exist."""
        return os.getpid() == self._pid

    def summary(
        self, samples: int | None = None, items: dict[str, float] | None = None, rates: dict[str, float] | None = None
    ) -> ProfilingSummary:
        """Return the summary so far."""
        if not self.in_this_process():  # the lock may be held for ever
            return self.record.summary(samples, items, rates)
        with self._lock:
            return self.record.summary(samples, items, rates)

    def _work(self) -> None:
        """Sample until the end. A failure must not reach the program."""
        try:
            self._sample_until_stopped(self._build())
        except Exception as error:  # noqa: BLE001  the profile reports it
            self.record.add_reason("snapshot", f"{type(error).__name__}: {error}")
        finally:
            self._ready.set()

    def _sample_until_stopped(self, sampler: ProfileSampler) -> None:
        started = time.monotonic()
        self._sample(sampler)  # it costs more than the later ones, and does not delay them
        cost = 0.0
        while self._wanted():
            self._ready.set()
            if self._stop.wait(seconds_until_next(time.monotonic() - started, self._interval, cost)):
                self._sample(sampler)
                break
            cost = self._sample(sampler)
        sampler.close()

    def _sample(self, sampler: ProfileSampler) -> float:
        """Take one sample and return its CPU time. After a failure, the next one may succeed."""
        before = time.thread_time()
        try:
            sample = sampler.sample()
            with self._lock:
                self.record.add(sample)
            self._add_peaks()
        except Exception as error:  # noqa: BLE001  the profile reports it
            self.record.add_reason("snapshot", f"{type(error).__name__}: {error}")
        cost = time.thread_time() - before
        self.record.cpu_cost_seconds += cost
        return cost

    def _add_peaks(self) -> None:
        peaks = self._peaks()
        with self._lock:
            for peak, at_start in zip(peaks, self._peaks_at_start, strict=True):
                if peak > at_start:
                    self.record.add_peak(peak)


def kernel_peaks() -> tuple[float, ...]:
    """Return the largest resident memory of this process, and of a child that it waited for, in bytes."""
    return own_peak_bytes(), resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * PEAK_UNIT
