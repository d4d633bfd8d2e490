"""The bytes over PCIe, from two fields: a call of nvmlDeviceGetPcieThroughput takes 20 ms."""

import ctypes

from flyball_agent.accelerators.metrics import DeviceColumn
from flyball_agent.accelerators.nvidia_columns import GPM_PCIE, POSITIONS
from flyball_agent.accelerators.nvidia_fields import CALL, MISSING, UNSIGNED_INT, FieldArray
from flyball_agent.accelerators.nvidia_gpm import GpmQuery
from flyball_agent.accelerators.nvidia_queries import DeviceQuery, Failures, Row
from flyball_agent.accelerators.nvml import NOT_SUPPORTED, SUCCESS, Nvml

_TRANSMIT, _RECEIVE = 197, 198
_WRAP = 1 << 32
_CODE = 2  # position in an entry


class WrappingCounter:
    """Extends a 32-bit counter. PCIe 5.0 can wrap it 14 times a second, so a separate rate shows how often it wrapped.

    An H100 that copied 51.5 GB/s counted 55.5 GB/s: the payload and its headers. The rate is the mean of a slightly
    earlier second. So one wrap may be missing after a sudden start; it is added when the traffic ends.
    """

    __slots__ = ("_at", "_last", "_total")

    def __init__(self) -> None:
        self._total: int | None = None
        self._last = 0
        self._at = 0

    def add(self, count: int, microseconds: int, rate: float | None, wrap: int | None = _WRAP) -> int:
        """Return the bytes up to this count. Without a rate, at most one wrap since the last count is assumed."""
        if self._total is None or wrap is None:
            self._total = count
        else:
            grown = (count - self._last) % wrap
            if rate is not None:
                expected = rate * (microseconds - self._at) / 1e6
                grown += wrap * max(0, round((expected - grown) / wrap))
            self._total += grown
        self._last, self._at = count, microseconds
        return self._total


class PcieBytesQuery(DeviceQuery):
    """The bytes in both directions, as counters that do not wrap."""

    call = CALL
    positions = tuple(POSITIONS[DeviceColumn(metric)] for metric in GPM_PCIE.values())

    def __init__(self, nvml: Nvml, handle: ctypes.c_void_p, activity: GpmQuery) -> None:
        self._fields = FieldArray(nvml, handle, ((_TRANSMIT, 0), (_RECEIVE, 0)))
        self._activity = activity
        self._counters = tuple(WrappingCounter() for _ in self.positions)
        self._entries: list[tuple[int, int, int, int]] = []

    def run(self) -> int:
        if code := self._fields.run():
            return code
        self._entries = self._fields.raw()
        transmit, receive = self._entries
        both_missing = transmit[_CODE] in MISSING and receive[_CODE] in MISSING
        return NOT_SUPPORTED if both_missing else SUCCESS

    def store(self, row: Row) -> Failures:
        failures = []
        parts = zip(self.positions, self._entries, self._counters, self._activity.pcie_rates, strict=True)
        for position, (microseconds, kind, code, bits), counter, rate in parts:
            if code:
                row[position] = None
                failures.append((position, code))
            elif kind == UNSIGNED_INT:
                row[position] = counter.add(bits & (_WRAP - 1), microseconds, rate)
            else:  # a wider field does not wrap
                row[position] = counter.add(bits, microseconds, None, None)
        return failures
