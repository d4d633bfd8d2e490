"""Round-trip times to a service, measured in a thread of their own: a slow service must not delay the samples."""

import threading
from typing import Protocol

from flyball_agent.probes.round_trip import LatencyTarget, RequestFailed, RoundTrip, TcpRoundTrip, parse_target

TIMEOUT_SECONDS = 5.0
PENDING = "the first round trip has not finished"


class ApiTrip(Protocol):
    """Measures a round trip."""

    def measure(self) -> RoundTrip:
        """Return the times that it took. Raise OSError or RequestFailed on failure."""


class ApiLatency:
    """Connects to the target and waits for its answer, again and again. The thread is never joined for long.

    It may hang in a name lookup, which has no time limit.
    """

    def __init__(self, target: str) -> None:
        self.target = parse_target(target)
        self.reason = PENDING
        self.failures = 0
        self._seconds: float | None = None
        self._requested = threading.Event()
        self._stopped = False
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Start the thread."""
        thread = threading.Thread(target=self._work, name="flyball-profile-api", daemon=True)
        try:
            thread.start()
        except RuntimeError as error:  # too many threads
            self.reason = str(error)
            return
        self._thread = thread
        self.request()

    def request(self) -> None:
        """Ask for one more round trip, unless one is in progress."""
        self._requested.set()

    def result(self) -> float | None:
        """Return the seconds of a round trip that has finished since the last call, if there is one."""
        seconds, self._seconds = self._seconds, None
        return seconds

    def stop(self, seconds: float = 0.5) -> None:
        """Ask the thread to end, and wait for it a little."""
        self._stopped = True
        self._requested.set()
        if self._thread is not None:
            self._thread.join(seconds)

    def _work(self) -> None:
        trip = api_trip(self.target)
        while not self._stopped:
            self._requested.wait()
            self._requested.clear()
            if not self._stopped:
                self._measure(trip)

    def _measure(self, trip: ApiTrip) -> None:
        try:
            self._seconds = trip.measure().total_seconds
        except (OSError, RequestFailed, ValueError) as error:  # a host name may not be encodable
            self.failures += 1
            self.reason = failure_reason(error)


def api_trip(target: LatencyTarget) -> ApiTrip:
    """Return the round trip of a target: a GET request for a URL, a TCP connection for host and port."""
    if target.url is None:
        return TcpRoundTrip(target, TIMEOUT_SECONDS)
    from flyball_agent.probes.http_round_trip import HttpRoundTrip  # 6 MB

    return HttpRoundTrip(target.url, target.host, target.port, TIMEOUT_SECONDS)


def failure_reason(error: Exception) -> str:
    """Return the reason why a round trip failed."""
    if isinstance(error, TimeoutError):
        return f"no response within {TIMEOUT_SECONDS:g} s"
    return str(getattr(error, "strerror", "") or str(error)[:100] or type(error).__name__)
