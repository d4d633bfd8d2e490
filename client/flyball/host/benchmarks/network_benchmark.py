"""Round trips to this machine itself and to a service, and the download rate of a file that the user names."""

import http.client
import statistics
import time
import urllib.error
import urllib.request
from collections.abc import Callable

from flyball.host.hardware_parts import NetworkSpeed
from flyball.host.reasons import Reasons
from flyball.profiling.api_latency import api_trip, failure_reason
from flyball_agent.probes.round_trip import BadTarget, Loopback, RequestFailed, parse_target

LOOPBACK_TRIPS, LOOPBACK_SECONDS = 200, 0.2
SERVICE_TRIPS, SERVICE_SECONDS = 5, 2.0
DOWNLOAD_BYTES, DOWNLOAD_SECONDS = 64 * 2**20, 3.0
_PIECE = 2**18
_PATH = "benchmarks.network"


def measure_network(service_url: str, download_url: str | None, reasons: Reasons) -> NetworkSpeed:
    """Return the round trips. What cannot be measured is None, with its reason."""
    localhost = _trips(_loopback(), LOOPBACK_TRIPS, LOOPBACK_SECONDS, f"{_PATH}.localhost_ms", reasons)
    label, service = _service_ms(service_url, reasons)
    shown, rate, size = None, None, None
    if download_url is None:
        reasons[f"{_PATH}.download_mb_per_second"] = "no URL was given; no other machine is contacted unasked"
    else:
        shown, rate, size = _download(download_url, reasons)
    return NetworkSpeed(
        localhost_ms=localhost,
        service=label,
        service_ms=service,
        download=shown,
        download_mb_per_second=rate,
        download_bytes=size,
    )


def _loopback() -> Callable[[], float]:
    return Loopback(timeout_seconds=1.0).measure


def _service_ms(url: str, reasons: Reasons) -> tuple[str | None, float | None]:
    """Return the service's name without password, and the median of a few requests in milliseconds."""
    try:
        target = parse_target(url)
    except BadTarget as error:
        reasons[f"{_PATH}.service_ms"] = str(error)
        return None, None
    trip = api_trip(target)
    place = f"{_PATH}.service_ms"
    found = _trips(lambda: trip.measure().total_seconds, SERVICE_TRIPS, SERVICE_SECONDS, place, reasons)
    if found is None:
        reasons[place] = f"{target.label}: {reasons[place]}"
    return target.label, found


def _trips(measure: Callable[[], float], count: int, seconds: float, path: str, reasons: Reasons) -> float | None:
    """Return the median in milliseconds; the first trip, which opens the connection, counts only if it is the only one.

    One failure ends it: the next requests would most likely wait for their time limit too.
    """
    ends = time.monotonic() + seconds
    found: list[float] = []
    try:
        while len(found) < count + 1 and (not found or time.monotonic() < ends):
            found.append(measure())
    except (OSError, RequestFailed, ValueError) as error:
        reasons[path] = failure_reason(error)
        return None
    return 1e3 * statistics.median(found[1:] or found)


def _download(url: str, reasons: Reasons) -> tuple[str | None, float | None, int | None]:
    """Return the URL's label, MB/s and bytes of a download that ends after some seconds or megabytes."""
    try:
        target = parse_target(url)
        if target.url is None:
            raise BadTarget(f"download {url!r}: expected http://… or https://…")
        done, seconds = _read(url)
    except (OSError, ValueError, http.client.HTTPException) as error:
        shown = getattr(error, "reason", None) or error
        reasons[f"{_PATH}.download_mb_per_second"] = f"the download failed: {shown}"
        return None, None, None
    if not done:
        reasons[f"{_PATH}.download_mb_per_second"] = f"{target.label} sent nothing"
        return target.label, None, 0
    return target.label, done / seconds / 1e6, done


def _read(url: str) -> tuple[int, float]:
    """Return bytes and seconds; the time begins with the first byte, so that the connection does not count."""
    request = urllib.request.Request(url, headers={"User-Agent": "flyball", "Accept-Encoding": "identity"})  # noqa: S310
    with urllib.request.urlopen(request, timeout=DOWNLOAD_SECONDS) as response:  # noqa: S310  checked by parse_target
        first = len(response.read(1))
        started = time.perf_counter()
        done = first
        while done < DOWNLOAD_BYTES and time.perf_counter() - started < DOWNLOAD_SECONDS:
            piece = response.read(_PIECE)
            if not piece:
                break
            done += len(piece)
        return done, max(time.perf_counter() - started, 1e-6)
