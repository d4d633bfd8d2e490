"""Round-trip times to services that the training calls, and over loopback for comparison."""

import threading
import time
from collections.abc import Sequence
from typing import Protocol

from flyball_agent.probes.columns import GroupedColumns
from flyball_agent.probes.periodic_reading import PeriodicReading
from flyball_agent.probes.probe import ProbeSample, Value
from flyball_agent.probes.round_trip import LatencyTarget, Loopback, RequestFailed, TcpRoundTrip
from flyball_proto.metric import counter, gauge
from flyball_proto.unavailable_reading import Reason, UnavailableReading

TIMEOUT_SECONDS = 5.0
LOOPBACK_EVERY = 5
"""Loopback is measured every fifth time: it is only for comparison and hardly changes."""

LATENCY = gauge(
    "latency_seconds",
    "seconds",
    "Round-trip time: a byte over loopback, a TCP connect, or a GET request with its response.",
    ("target",),
    scale=1_000_000,
)
FAILURES = counter("latency_failures_total", "failures", "Round trips that failed or timed out.", ("target",))
METRICS = (LATENCY, FAILURES)

LoopbackResult = tuple[float | None, tuple[UnavailableReading, ...]]
"""The round-trip time over loopback, and the reason if it is unknown."""

PENDING = (Reason.UNKNOWN, "the first round trip has not finished")
TIMED_OUT = (Reason.TIMED_OUT, f"no response within {TIMEOUT_SECONDS:g} s")


def reason_of(error: Exception) -> tuple[Reason, str]:
    """Return the reason why a round trip failed. The text is the same for each attempt."""
    if isinstance(error, TimeoutError):
        return TIMED_OUT
    if isinstance(error, PermissionError):
        return Reason.DENIED, "blocked by a firewall or by the sandbox of the agent's service"
    if isinstance(error, OSError) and error.strerror:
        return Reason.FAILED, error.strerror
    return Reason.FAILED, str(error)[:100] or type(error).__name__


class Trip(Protocol):
    """Measures a round trip."""

    def measure(self) -> float: ...
    def close(self) -> None: ...


def build_trip(target: LatencyTarget, timeout_seconds: float) -> Trip:
    """Return the round trip that measures a target."""
    if target.url is None:
        return TcpRoundTrip(target, timeout_seconds)
    from flyball_agent.probes.http_round_trip import HttpRoundTrip  # noqa: PLC0415  it takes 6 MB

    return HttpRoundTrip(target.url, target.host, target.port, timeout_seconds)


class Prober:
    """Measures one target in its own thread, once for each request.

    A tick uses the result of the last round trip and does not wait for the next one, so a service that takes seconds is
    measured like one that takes microseconds. The thread is never joined, because it may hang in a name lookup, which
    has no time limit.
    """

    def __init__(self, label: str, trip: Trip, timeout_seconds: float = TIMEOUT_SECONDS) -> None:
        self.label = label
        self._trip = trip
        self._timeout_seconds = timeout_seconds
        self._since: float | None = None
        self._requested = threading.Event()
        self._thread: threading.Thread | None = None
        self._stopped = False
        self._seconds: float | None = None
        self._reason: tuple[Reason, str] = PENDING
        self.failures = 0

    def result(self) -> tuple[float | None, tuple[Reason, str]]:
        """Return the time of the last round trip, or the reason why it is unknown.

        It becomes unknown when the current round trip exceeds the time limit.
        """
        since = self._since
        if since is not None and time.monotonic() - since > self._timeout_seconds:
            return None, TIMED_OUT
        return self._seconds, self._reason

    def request(self) -> None:
        """Start a round trip unless one is in progress."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name=f"latency-{self.label}", daemon=True)
            self._thread.start()
        self._requested.set()

    def stop(self) -> None:
        self._stopped = True
        self._requested.set()

    def _work(self) -> None:
        while not self._stopped:
            self._requested.wait()
            if not self._stopped:
                self.measure()
            self._requested.clear()  # after the round trip: requests during it are not queued
        self._trip.close()

    def measure(self) -> None:
        """Measure one round trip in the calling thread."""
        self._since = time.monotonic()
        try:
            self._seconds = self._trip.measure()
        except (OSError, RequestFailed, ValueError) as error:  # a host name may not be encodable
            self._reason = reason_of(error)
            self._seconds = None
            self.failures += 1
        self._since = None


class LatencyProbe:
    """Reads all targets. Loopback is measured in `read` itself: it takes microseconds or fails."""

    name = "latency"
    metrics = METRICS
    every_seconds = 1.0
    blocking = False

    def __init__(self, targets: Sequence[LatencyTarget] = ()) -> None:
        self._loopback = Loopback()
        self._loopback_failures = 0
        self._loopback_result: PeriodicReading[LoopbackResult] = PeriodicReading(LOOPBACK_EVERY)
        unique = {target.label: target for target in targets}
        self._probers = [Prober(label, build_trip(target, TIMEOUT_SECONDS)) for label, target in unique.items()]
        labels = ["localhost", *(prober.label for prober in self._probers)]
        self._columns = GroupedColumns(METRICS).columns([(label,) for label in labels])

    def read(self) -> ProbeSample:
        seconds, missing = self._loopback_result.value(self._measure_loopback)
        unavailable = list(missing)
        values: list[Value] = [seconds, self._loopback_failures]
        for prober in self._probers:
            seconds, (reason, detail) = prober.result()
            if seconds is None:
                unavailable.append(UnavailableReading(self.name, LATENCY.name, prober.label, reason, detail))
            values += (seconds, prober.failures)
            prober.request()
        return ProbeSample(self._columns, values, tuple(unavailable))

    def close(self) -> None:
        """Ask the threads to end."""
        self._loopback.close()
        for prober in self._probers:
            prober.stop()

    def _measure_loopback(self) -> LoopbackResult:
        try:
            return self._loopback.measure(), ()
        except OSError as error:
            self._loopback_failures += 1
            return None, (UnavailableReading(self.name, LATENCY.name, "localhost", *reason_of(error)),)
