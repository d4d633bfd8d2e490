"""Round trips to the services that the training calls, and over loopback for comparison."""

import http.client
import ssl
import threading
import time
from collections.abc import Sequence
from typing import Protocol

from flyball_agent.probes.columns import GroupedColumns
from flyball_agent.probes.every_nth import EveryNth
from flyball_agent.probes.probe import Sample, Value
from flyball_agent.probes.round_trip import Loopback, RoundTrip, Target
from flyball_proto.metric import counter, gauge
from flyball_proto.unavailable_reading import Reason, UnavailableReading

TIMEOUT_SECONDS = 5.0
LOOPBACK_EVERY = 5
"""Loopback is measured at each fifth reading: it is there for comparison and hardly changes."""

LATENCY = gauge(
    "latency_seconds",
    "seconds",
    "Round trip: a byte over loopback, a TCP connect, or a GET of a URL (answer included).",
    ("target",),
    scale=1_000_000,
)
FAILURES = counter("latency_failures_total", "failures", "Round trips that failed or took too long.", ("target",))
METRICS = (LATENCY, FAILURES)

UNDER_WAY = (Reason.UNKNOWN, "the first round trip is under way")
TIMED_OUT = (Reason.TIMED_OUT, f"no answer within {TIMEOUT_SECONDS:g} s")


def reason_of(error: Exception) -> tuple[Reason, str]:
    """Why a round trip failed, in words that do not change from try to try."""
    if isinstance(error, TimeoutError):
        return TIMED_OUT
    if isinstance(error, ssl.SSLError):
        return Reason.FAILED, f"TLS: {getattr(error, 'reason', None) or type(error).__name__}"
    if isinstance(error, PermissionError):
        return Reason.DENIED, "a firewall or the sandbox of the agent's service refuses it"
    if isinstance(error, OSError) and error.strerror:
        return Reason.FAILED, error.strerror
    return Reason.FAILED, str(error)[:100] or type(error).__name__


class Trip(Protocol):
    """What measures a round trip."""

    def measure(self) -> float: ...
    def close(self) -> None: ...


class Prober:
    """Measures one target in a thread of its own, once each time it is asked.

    The tick takes what the last round trip gave and does not wait for the next: a service that takes seconds is
    measured like one that takes microseconds. The thread may hang in a name look-up, which has no time limit of its
    own; it is never joined.
    """

    def __init__(self, label: str, trip: Trip, timeout_seconds: float = TIMEOUT_SECONDS) -> None:
        self.label = label
        self._trip = trip
        self._timeout_seconds = timeout_seconds
        self._since: float | None = None
        self._asked = threading.Event()
        self._thread: threading.Thread | None = None
        self._stopped = False
        self._seconds: float | None = None
        self._why: tuple[Reason, str] = UNDER_WAY
        self.failures = 0

    def answer(self) -> tuple[float | None, tuple[Reason, str]]:
        """What the last round trip took, or why that is unknown; forgotten when the next one hangs."""
        since = self._since
        if since is not None and time.monotonic() - since > self._timeout_seconds:
            return None, TIMED_OUT
        return self._seconds, self._why

    def ask(self) -> None:
        """Start a round trip unless one is under way."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name=f"latency-{self.label}", daemon=True)
            self._thread.start()
        self._asked.set()

    def stop(self) -> None:
        self._stopped = True
        self._asked.set()

    def _work(self) -> None:
        while not self._stopped:
            self._asked.wait()
            if not self._stopped:
                self.measure()
            self._asked.clear()  # after the round trip: what was asked meanwhile is not made up for
        self._trip.close()

    def measure(self) -> None:
        """One round trip, in the calling thread."""
        self._since = time.monotonic()
        try:
            self._seconds = self._trip.measure()
        except (OSError, http.client.HTTPException, ValueError) as error:  # a host name may not be encodable
            self._why = reason_of(error)
            self._seconds = None
            self.failures += 1
        self._since = None


class LatencyProbe:
    """Loopback is measured at once: it answers in microseconds or not at all."""

    name = "latency"
    metrics = METRICS
    every_seconds = 1.0
    blocking = False

    def __init__(self, targets: Sequence[Target] = ()) -> None:
        self._loopback = Loopback()
        self._loopback_failures = 0
        self._seldom = EveryNth(self._measure_loopback, LOOPBACK_EVERY)
        unique = {target.label: target for target in targets}
        self._probers = [Prober(label, RoundTrip(target, TIMEOUT_SECONDS)) for label, target in unique.items()]
        labels = ["localhost", *(prober.label for prober in self._probers)]
        self._columns = GroupedColumns(METRICS).columns([(label,) for label in labels])

    def read(self) -> Sample:
        seconds, why = self._seldom.value()
        unavailable = list(why)
        values: list[Value] = [seconds, self._loopback_failures]
        for prober in self._probers:
            seconds, (reason, detail) = prober.answer()
            if seconds is None:
                unavailable.append(UnavailableReading(self.name, LATENCY.name, prober.label, reason, detail))
            values += (seconds, prober.failures)
            prober.ask()
        return Sample(self._columns, values, tuple(unavailable))

    def close(self) -> None:
        """Let the threads go."""
        self._loopback.close()
        for prober in self._probers:
            prober.stop()

    def _measure_loopback(self) -> tuple[float | None, tuple[UnavailableReading, ...]]:
        try:
            return self._loopback.measure(), ()
        except OSError as error:
            self._loopback_failures += 1
            return None, (UnavailableReading(self.name, LATENCY.name, "localhost", *reason_of(error)),)
