"""NVLink: which links are up, and the counters of each link.

NVML offers error counters in four ways, and each generation supports different ones: totals (fields 38 to 59 and 160,
up to Ampere), fields of one link (161 to 163, up to Hopper; 206 to 221, since NVLink 5) and
nvmlDeviceGetNvLinkErrorCounter (up to Hopper). All are tried. If several answer for one kind, the largest number is
used, because Hopper answers the totals with zero (https://github.com/DataDog/datadog-agent/pull/55966).
"""

import ctypes
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import ClassVar

from flyball_agent.accelerators import metrics as m
from flyball_agent.accelerators.metrics import DeviceColumn
from flyball_agent.accelerators.nvidia_columns import (
    FEC_FIELDS,
    NVLINK_BER_FIELD,
    NVLINK_COUNTERS,
    NVLINK_FIELDS,
    NVLINK_KINDS,
    NVLINK_TOTAL_FIELDS,
    POSITIONS,
)
from flyball_agent.accelerators.nvidia_fields import CALL, DOUBLE, MISSING, FieldArray, FieldValue
from flyball_agent.accelerators.nvidia_queries import DeviceQuery, Failures, Row
from flyball_agent.accelerators.nvml import (
    GPU_IS_LOST,
    INVALID_ARGUMENT,
    NOT_SUPPORTED,
    SESSION_ENDED,
    SUCCESS,
    Nvml,
)

LINKS_AT_ONCE = 6
"""NVLink 5 has 28 fields for each of 18 links. So after the first query, each query reads only some of the links."""

_COUNTED_ELSEWHERE = frozenset({"effective", "crc", "crc_flit", "crc_data"})
"""Kinds that the sum of a link's errors does not add: retries repair `effective` errors, and the CRC kinds overlap."""
_EVERY = -1  # instead of the number of a link


class LinksQuery(DeviceQuery):
    """The number of active NVLinks, with one call per link."""

    positions = (POSITIONS[DeviceColumn(m.NVLINK_ACTIVE)],)

    def __init__(self, nvml: Nvml, handle: ctypes.c_void_p) -> None:
        self._call = nvml.call("nvmlDeviceGetNvLinkState")
        self.call = self._call.name
        self._handle = handle
        self._most = int(nvml.structures.NVML_NVLINK_MAX_LINKS)
        self._buffer = ctypes.c_uint()
        self.up: dict[int, bool] = {}
        """The links of the device, and if they are up."""
        self.code = SUCCESS
        """The code of the last reading."""

    def run(self) -> int:
        found: dict[int, bool] = {}
        for link in range(self._most):
            self.code = self._call(self._handle, link, ctypes.byref(self._buffer))
            if self.code == SUCCESS:
                found[link] = bool(self._buffer.value)
            elif link and self.code in (INVALID_ARGUMENT, NOT_SUPPORTED):  # past the last link of this device
                break
            else:
                return self.code
        self.up, self.code = found, SUCCESS
        return SUCCESS

    def store(self, row: Row) -> Failures:
        row[self.positions[0]] = sum(self.up.values())
        return ()


class LinkCountersQuery(DeviceQuery):
    """Errors, bit error rate and error correction of all NVLinks, and the faulty links.

    A link that no longer answers keeps its last counts, so that the sums do not fall.
    """

    call = CALL
    _ERRORS: ClassVar[Mapping[str, int]] = {
        kind: POSITIONS[DeviceColumn(m.NVLINK_ERRORS, kind)] for kind in NVLINK_KINDS
    }
    _FEC: ClassVar[Mapping[str, int]] = {
        name: POSITIONS[DeviceColumn(m.NVLINK_FEC, name)] for name in FEC_FIELDS.values()
    }
    _BER = POSITIONS[DeviceColumn(m.NVLINK_BER)]
    positions = (*_ERRORS.values(), *_FEC.values(), _BER)

    def __init__(self, nvml: Nvml, handle: ctypes.c_void_p, links: LinksQuery) -> None:
        self._nvml = nvml
        self._handle = handle
        self._links = links
        self._counter = nvml.call("nvmlDeviceGetNvLinkErrorCounter")
        self._buffer = ctypes.c_ulonglong()
        self._was_up: set[int] = set()
        self.reset()

    def reset(self) -> None:
        self._select(tuple(NVLINK_FIELDS) + tuple(FEC_FIELDS) + (NVLINK_BER_FIELD,))
        self._counters = tuple(NVLINK_COUNTERS)
        self._totals = FieldArray(self._nvml, self._handle, [(number, 0) for number in NVLINK_TOTAL_FIELDS])
        self._of_all: dict[str, int] = {}
        self._of_link: dict[int, dict[int, int]] = {}
        self._ber: dict[int, float] = {}
        self._failed: dict[int, int] = {}
        self._next = 0
        self._first = True
        self._seen: set[int] = set()

    @property
    def troubled(self) -> dict[int, tuple[int, int]]:
        """The links that had an error or went down: errors of all kinds, and 1 if the link is up."""
        found = {}
        for link, up in self._links.up.items():
            errors = _errors_of(_by_kind(self._of_link.get(link, {})))
            if errors or (link in self._was_up and not up):
                found[link] = (errors, int(up))
        return found

    def run(self) -> int:
        links = tuple(self._links.up)
        if not links and self._links.code not in (SUCCESS, *MISSING):
            return self._links.code
        self._was_up.update(link for link, up in self._links.up.items() if up)
        if code := self._read_totals():
            return code
        answered: set[int] = set()
        for link in links if self._first else self._next_links(links):
            if code := self._read_link(link, answered):
                return code
        if self._first and links and not self._failed:
            self._first = False
            self._drop_unanswered(answered)
        return SUCCESS if self._of_all or any(self._of_link.values()) or self._failed else NOT_SUPPORTED

    def _next_links(self, links: Sequence[int]) -> Sequence[int]:
        """Return the links to read this time."""
        begin = self._next % len(links) if links else 0
        self._next = begin + LINKS_AT_ONCE
        return (*links[begin:], *links[:begin])[:LINKS_AT_ONCE]

    def store(self, row: Row) -> Failures:
        failure = next(iter(self._failed.values()), SUCCESS)
        sums: dict[str, int] = defaultdict(int)
        fec: dict[str, int] = defaultdict(int)
        for counts in self._of_link.values():
            for kind, count in _by_kind(counts).items():
                sums[kind] += count
            for number in counts.keys() & FEC_FIELDS.keys():
                fec[FEC_FIELDS[number]] += counts[number]
        for kind, total in self._of_all.items():
            sums[kind] = max(sums[kind], total)
        for names, found in ((self._ERRORS, sums), (self._FEC, fec)):
            for name, position in names.items():
                row[position] = None if failure else found.get(name)
        row[self._BER] = None if failure or not self._ber else max(self._ber.values())
        return self._failures(row, failure)

    def _failures(self, row: Row, failure: int) -> Failures:
        """Return what failed, and the metrics that the device does not have.

        A kind of error that another generation of NVLink has is not a failure.
        """
        if not failure:
            self._seen = {position for position in self.positions if row[position] is not None}
        groups = (tuple(self._ERRORS.values()), tuple(self._FEC.values()), (self._BER,))
        missing = [position for group in groups if self._seen.isdisjoint(group) for position in group]
        if not failure:
            return [(position, NOT_SUPPORTED) for position in missing]
        if not self._seen:
            return [(position, failure) for position in self.positions]
        failed = [(position, failure) for position in self._seen]
        return [*failed, *((position, NOT_SUPPORTED) for position in missing)]

    def _select(self, numbers: Sequence[int]) -> None:
        self._numbers = tuple(numbers)
        self._fields = FieldArray(self._nvml, self._handle, [(number, 0) for number in numbers])

    def _drop_unanswered(self, answered: set[int]) -> None:
        """Stop asking for fields and counters that no link answers."""
        self._select([number for number in self._numbers if number in answered])
        self._counters = tuple(counter for counter in self._counters if -counter - 1 in answered)

    def _read_totals(self) -> int:
        if code := self._totals.run():
            return self._note(_EVERY, code)
        self._failed.pop(_EVERY, None)
        for kind, value in zip(NVLINK_TOTAL_FIELDS.values(), self._totals.values(), strict=True):
            if not value.code:
                self._of_all[kind] = int(value.value)
        return SUCCESS

    def _read_link(self, link: int, answered: set[int]) -> int:
        """Read one link; note the fields and counters (as negative numbers) that it answers."""
        self._fields.scope(link)
        if code := self._fields.run():
            return self._note(link, code)
        self._failed.pop(link, None)
        counts = self._of_link.setdefault(link, {})
        for number, value in zip(self._numbers, self._fields.values(), strict=False):
            if value.missing:
                continue
            answered.add(number)
            if value.code:
                self._note(link, value.code)
            elif number == NVLINK_BER_FIELD:
                self._ber[link] = bit_error_rate(value)
            else:
                counts[number] = int(value.value)
        for counter in self._counters:
            code = self._counter(self._handle, link, counter, ctypes.byref(self._buffer))
            if code == GPU_IS_LOST or code in SESSION_ENDED:
                return code
            if code in MISSING or code == INVALID_ARGUMENT:
                continue
            answered.add(-counter - 1)
            if code:
                self._note(link, code)
            else:
                counts[-counter - 1] = self._buffer.value
        return SUCCESS

    def _note(self, link: int, code: int) -> int:
        """Note a failed call. Return its code if the device is lost or the session has ended."""
        self._failed[link] = code
        return code if code == GPU_IS_LOST or code in SESSION_ENDED else SUCCESS


def _by_kind(counts: Mapping[int, int]) -> dict[str, int]:
    """Return the errors of one link by kind, from its fields and its counters (negative numbers)."""
    kinds: dict[str, int] = {}
    for number, count in counts.items():
        kind = NVLINK_COUNTERS[-number - 1] if number < 0 else NVLINK_FIELDS.get(number)
        if kind is not None:
            kinds[kind] = max(kinds.get(kind, 0), count)
    return kinds


def _errors_of(counts: Mapping[str, int]) -> int:
    """Return the errors of one link. `crc` counts the same errors as the two kinds of the older counters."""
    total = sum(count for kind, count in counts.items() if kind not in _COUNTED_ELSEWHERE)
    return total + max(counts.get("crc", 0), counts.get("crc_flit", 0) + counts.get("crc_data", 0))


def bit_error_rate(value: FieldValue) -> float:
    """Return the rate in a field: a number, or mantissa (bits 8 to 11) and negative exponent (bits 0 to 7)."""
    if value.kind == DOUBLE:
        return value.value
    bits = int(value.value)
    return (bits >> 8 & 0xF) * 10.0 ** -(bits & 0xFF)
