"""Round-trip times to services that the training calls, and over loopback for comparison."""

import threading
import time
from collections.abc import Sequence
from typing import Protocol

from flyball_agent.probes.columns import GroupedColumns
from flyball_agent.probes.periodic_reading import PeriodicReading
from flyball_agent.probes.probe import ProbeSample, Value
from flyball_agent.probes.round_trip import LatencyTarget, Loopback, RequestFailed, RoundTrip, TcpRoundTrip
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
CONNECT = gauge(
    "latency_connect_seconds",
    "seconds",
    "Time to connect to an HTTP target: name lookup, TCP and TLS. It depends on the network.",
    ("target",),
    scale=1_000_000,
)
ANSWER = gauge(
    "latency_answer_seconds",
    "seconds",
    "Time from the request to an HTTP target to the head of its response: one round trip and the service's work.",
    ("target",),
    scale=1_000_000,
)
OF_ALL = (LATENCY, FAILURES)
OF_HTTP = (CONNECT, ANSWER)
METRICS = (*OF_ALL, *OF_HTTP)

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
    """Measures a round trip. `connect_seconds` is known while an HTTP target has connected but not answered."""

    @property
    def connect_seconds(self) -> float | None: ...
    def measure(self) -> RoundTrip: ...


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

    def __init__(
        self, label: str, trip: Trip, timeout_seconds: float = TIMEOUT_SECONDS, *, is_http: bool = False
    ) -> None:
        self.label = label
        self.is_http = is_http
        self._trip = trip
        self._timeout_seconds = timeout_seconds
        self._since: float | None = None
        self._requested = threading.Event()
        self._thread: threading.Thread | None = None
        self._stopped = False
        self._found: RoundTrip | None = None
        self._connected: float | None = None
        self._reason: tuple[Reason, str] = PENDING
        self.failures = 0

    def result(self) -> tuple[RoundTrip | None, tuple[Reason, str]]:
        """Return the times of the last round trip, or the reason why they are unknown.

        They become unknown when the current round trip exceeds the time limit.
        """
        if self._is_late:
            return None, TIMED_OUT
        return self._found, self._reason

    @property
    def connect_seconds(self) -> float | None:
        """The time to connect, also if no answer followed; None if it failed, or for a target without HTTP."""
        return self._trip.connect_seconds if self._is_late else self._connected

    @property
    def _is_late(self) -> bool:
        since = self._since
        return since is not None and time.monotonic() - since > self._timeout_seconds

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

    def measure(self) -> None:
        """Measure one round trip in the calling thread."""
        self._since = time.monotonic()
        try:
            self._found = self._trip.measure()
        except (OSError, RequestFailed, ValueError) as error:  # a host name may not be encodable
            self._reason = reason_of(error)
            self._found = None
            self.failures += 1
        self._connected = self._trip.connect_seconds
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
        self._probers = [
            Prober(label, build_trip(target, TIMEOUT_SECONDS), is_http=target.url is not None)
            for label, target in unique.items()
        ]
        self._http = [prober for prober in self._probers if prober.is_http]
        labels = ["localhost", *(prober.label for prober in self._probers)]
        self._columns = GroupedColumns(OF_ALL, OF_HTTP).columns(
            [(label,) for label in labels], [(prober.label,) for prober in self._http]
        )

    def read(self) -> ProbeSample:
        seconds, missing = self._loopback_result.value(self._measure_loopback)
        unavailable = list(missing)
        values: list[Value] = [seconds, self._loopback_failures]
        of_http: list[Value] = []
        for prober in self._probers:
            found, reason = prober.result()
            values += (None if found is None else found.seconds, prober.failures)
            known = [(LATENCY, values[-2])]
            if prober.is_http:
                connect, answer = prober.connect_seconds, None if found is None else found.answer_seconds
                of_http += (connect, answer)
                known += [(CONNECT, connect), (ANSWER, answer)]
            unavailable += [
                UnavailableReading(self.name, metric.name, prober.label, *reason)
                for metric, value in known
                if value is None
            ]
            prober.request()
        return ProbeSample(self._columns, values + of_http, tuple(unavailable))

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
