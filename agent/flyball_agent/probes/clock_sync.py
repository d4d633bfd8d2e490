"""Synchronisation of the host's clock by a time service, and its possible error, as the kernel reports them."""

import ctypes
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from flyball_agent.probes.columns import ONE, GroupedColumns
from flyball_agent.probes.probe import Denied, ProbeSample, Unavailable, Unsupported, Value
from flyball_proto.metric import gauge, state

MICROSECONDS = 1_000_000
NOT_SYNCHRONISED = 16_000_000
"""Maximum error in microseconds at which the kernel calls the clock unsynchronised (NTP_PHASE_LIMIT).

The flag STA_UNSYNC does not show it: chrony clears the flag only with the setting `rtcsync`.
"""
REMEDY = (
    "in a drop-in of the service, set ProtectClock=no and SystemCallFilter=adjtimex clock_adjtime; "
    "without CAP_SYS_TIME these calls can only read"
)

METRICS = (
    state("clock_synchronized", "1 while a time service (NTP, PTP) keeps the clock synchronised.", ("no", "yes")),
    gauge(
        "clock_estimated_error_seconds",
        "seconds",
        "Error of the clock, estimated by the time service.",
        scale=MICROSECONDS,
    ),
    gauge(
        "clock_maximum_error_seconds",
        "seconds",
        "Largest possible error of the clock. It grows while no time service corrects it, up to 16 s.",
        scale=MICROSECONDS,
    ),
)


@dataclass(frozen=True, slots=True)
class ClockStatus:
    """The result of adjtimex(2): two errors of the clock in microseconds."""

    estimated_error: int
    maximum_error: int


class _Timex(ctypes.Structure):
    """`struct timex`. The kernel also writes the fields after `status`, which are ignored."""

    _fields_ = (
        ("modes", ctypes.c_uint),
        ("offset", ctypes.c_long),
        ("freq", ctypes.c_long),
        ("maxerror", ctypes.c_long),
        ("esterror", ctypes.c_long),
        ("status", ctypes.c_int),
        ("rest", ctypes.c_byte * 512),  # the structure has 208 bytes on 64-bit systems
    )


@lru_cache(maxsize=1)
def _library() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def read_status() -> ClockStatus:
    """Ask the kernel. Raise `Unavailable` with the reason if it refuses."""
    try:
        call = _library().adjtimex
    except AttributeError:
        raise Unsupported("the C library has no adjtimex") from None
    timex = _Timex()  # modes = 0: read only
    if call(ctypes.byref(timex)) >= 0:
        return ClockStatus(timex.esterror, timex.maxerror)
    error = OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    if isinstance(error, PermissionError):
        raise Denied("adjtimex: blocked by the sandbox of the agent's service", REMEDY)
    raise Unavailable(f"adjtimex: {error.strerror}")


def clock_values(status: ClockStatus) -> list[Value]:
    """Return the values of `METRICS`."""
    errors = (status.estimated_error, status.maximum_error)
    return [int(status.maximum_error < NOT_SYNCHRONISED), *(max(0, error) / MICROSECONDS for error in errors)]


class ClockSyncProbe:
    """Reads the kernel's state of the clock, which all time services keep."""

    name = "clock_sync"
    metrics = METRICS
    every_seconds = 10.0
    blocking = False

    def __init__(self, read: Callable[[], ClockStatus] = read_status) -> None:
        self._read = read
        self._columns = GroupedColumns(METRICS).columns(ONE)

    def read(self) -> ProbeSample:
        return ProbeSample(self._columns, clock_values(self._read()))
