"""Readers of amdgpu's metrics table, and of its counts of hardware errors (RAS)."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from flyball_agent.accelerators import metrics as m
from flyball_agent.accelerators.amd_table import MetricsTable, parse_table
from flyball_agent.accelerators.card_reader import Result, find_file, find_files
from flyball_agent.accelerators.metrics import DeviceColumn
from flyball_agent.accelerators.throttle_reasons import AMD_RESIDENCIES, REASONS, amd_reasons
from flyball_agent.probes.files import KernelFile, number, number_after
from flyball_agent.probes.probe import Unavailable, Unsupported

_ENERGY_UNIT_JOULES = 2**-16  # kgd_pp_interface.h: "15.259uJ (2^-16) units"
_MICRO, _NANO = 1e-6, 1e-9
_KIB = 1024
_WRAP = 1 << 32
RAS_SECONDS = 10.0
"""Interval of the error counts: for each of about ten blocks the driver asks the firmware."""

_PCIE_ERRORS = {
    "link_recovery": "pcie_recoveries",
    "nak_sent": "pcie_naks_sent",
    "nak_received": "pcie_naks_received",
}
_RAS_KINDS = {"corrected": b"ce", "deferred": b"de", "uncorrected": b"ue"}
_MEMORY_BLOCK = "umc"


class TableReader:
    """Reads energy, throttling, PCIe replays and XGMI from `gpu_metrics`."""

    columns: Sequence[DeviceColumn] = (
        DeviceColumn(m.ENERGY),
        DeviceColumn(m.PCIE_REPLAYS),
        *(DeviceColumn(m.PCIE_ERRORS, kind) for kind in _PCIE_ERRORS),
        DeviceColumn(m.XGMI_ACTIVE),
        DeviceColumn(m.XGMI_TRANSMIT),
        DeviceColumn(m.XGMI_RECEIVE),
        *(DeviceColumn(m.THROTTLED, reason) for reason in REASONS),
        *(DeviceColumn(m.THROTTLE_SECONDS, reason) for reason in AMD_RESIDENCIES),
    )

    def __init__(self, card: Path, driver: str) -> None:
        self._file = find_file(card, ("device/gpu_metrics",))
        self._energy = find_file(card, ("device/hwmon/hwmon*/energy1_input",))
        self._replays = find_file(card, ("device/pcie_replay_count",))
        self._absent = Unsupported(f"{driver} has no gpu_metrics")
        self._residency = ThrottleResidency()

    def read(self, _now: float, /) -> Sequence[Result]:
        """Read the table; energy and replays come from their own files where the driver has them."""
        fault: Unavailable = self._absent
        table = MetricsTable("", {})
        if self._file is not None:
            try:
                table = parse_table(self._file.read())
                fault = Unsupported(f"version {table.version} of gpu_metrics does not provide it")
            except Unavailable as error:
                fault = error
        self._residency.update(table)
        found = [
            _first(_scaled(self._energy, _MICRO), _energy(table)),
            _first(_scaled(self._replays, 1), table.number("pcie_replays")),
            *(table.number(name) for name in _PCIE_ERRORS.values()),
            _active_links(table),
            _kib(table.total("xgmi_write_kib")),
            _kib(table.total("xgmi_read_kib")),
            *_throttled(table, self._residency.active),
            *(self._residency.seconds.get(reason) for reason in AMD_RESIDENCIES),
        ]
        return [fault if value is None else value for value in found]


class ThrottleResidency:
    """Converts the firmware's throttle counts to seconds.

    The firmware counts the steps in which it throttled, for each reason, and all steps (`accumulation`). The increase
    of the one divided by that of the other is the share of the time since the previous table.
    """

    def __init__(self) -> None:
        self.active: Mapping[str, bool] = {}
        self.seconds: dict[str, float] = {}
        self._previous: MetricsTable | None = None

    def update(self, table: MetricsTable) -> None:
        """Add the time since the previous table. The first one starts the counters at 0."""
        if table.number("accumulation") is None:
            self.active, self._previous = {}, None
            return
        previous, self._previous = self._previous, table
        if previous is None:
            self.seconds = {reason: self.seconds.get(reason, 0.0) for reason in AMD_RESIDENCIES}
            return
        steps = _increase(previous, table, "accumulation")
        elapsed = max(0, (table.number("clock_ns") or 0) - (previous.number("clock_ns") or 0)) * _NANO
        if not steps:  # the firmware has not updated the table since
            return
        shares = {
            reason: min(1.0, max(_increase(previous, table, name) for name in names) / steps)
            for reason, names in AMD_RESIDENCIES.items()
        }
        self.active = {reason: share > 0 for reason, share in shares.items()}
        for reason, share in shares.items():
            self.seconds[reason] += share * elapsed


def _increase(previous: MetricsTable, table: MetricsTable, name: str) -> int:
    before, after = previous.number(name), table.number(name)
    return 0 if before is None or after is None else (after - before) % _WRAP


def _throttled(table: MetricsTable, by_residency: Mapping[str, bool]) -> list[int | None]:
    bits = table.number("throttle_bits")
    active = by_residency if bits is None else amd_reasons(bits)
    return [int(active[reason]) if reason in active else None for reason in REASONS]


def _energy(table: MetricsTable) -> float | None:
    """Return the energy in joules. 0 means that the firmware does not measure it: a running GPU has used some."""
    count = table.number("energy")
    return count * _ENERGY_UNIT_JOULES if count else None


def _active_links(table: MetricsTable) -> int | None:
    states = table.values.get("xgmi_status")
    return None if states is None else sum(state == 1 for state in states)


def _kib(count: int | None) -> int | None:
    return None if count is None else count * _KIB


def _scaled(file: KernelFile | None, factor: float) -> float | None:
    found = None if file is None else number(file.read_optional())
    return None if found is None else found * factor


def _first(preferred: float | None, other: float | None) -> float | None:
    return other if preferred is None else preferred


class RasReader:
    """Reads corrected, deferred and uncorrected errors of each block, at intervals. `umc` is the memory."""

    columns: Sequence[DeviceColumn] = (
        DeviceColumn(m.ECC_CORRECTED),
        DeviceColumn(m.ECC_UNCORRECTED),
        *(DeviceColumn(m.RAS_ERRORS, kind) for kind in _RAS_KINDS),
        DeviceColumn(m.RETIRED_PAGES, "uncorrected"),
    )

    def __init__(self, card: Path, driver: str) -> None:
        self._blocks = [KernelFile(path, size=256) for path in find_files(card, "device/ras/*_err_count")]
        self._pages = find_file(card, ("device/ras/gpu_vram_bad_pages",))
        self._absent = Unsupported(f"{driver} reports no hardware errors (RAS) of this GPU")
        self._next = float("-inf")
        self._results: Sequence[Result] = ()

    def read(self, now: float, /) -> Sequence[Result]:
        """Read the counts, at most every ten seconds."""
        if now >= self._next:
            self._next = now + RAS_SECONDS
            self._results = [*self._read_counts(), self._read_pages()]
        return self._results

    def _read_counts(self) -> list[Result]:
        if not self._blocks:
            return [self._absent] * (len(self.columns) - 1)
        counts: dict[str, dict[str, int]] = {}
        try:
            for file in self._blocks:
                counts[file.path.name.removesuffix("_err_count")] = parse_errors(file.read())
        except Unavailable as error:
            return [error] * (len(self.columns) - 1)
        memory = counts.get(_MEMORY_BLOCK, {})
        found: list[int | None] = [memory.get("corrected"), memory.get("uncorrected")]
        for kind in _RAS_KINDS:
            numbers = [block[kind] for block in counts.values() if kind in block]
            found.append(sum(numbers) if numbers else None)
        absent = Unsupported("no error count of this GPU contains it")
        return [absent if value is None else value for value in found]

    def _read_pages(self) -> Result:
        if self._pages is None:
            return self._absent
        try:
            return retired_pages(self._pages.read())
        except Unavailable as error:
            return error


def parse_errors(data: bytes) -> dict[str, int]:
    """Parse the counts of one block, such as `ue: 0` and `ce: 3` on two lines."""
    text = b"\n" + data
    found = {kind: number_after(text, b"\n" + key + b":") for kind, key in _RAS_KINDS.items()}
    return {kind: count for kind, count in found.items() if count is not None}


def retired_pages(data: bytes) -> int:
    """Count the pages that are out of use: lines `page : size : R`. P is pending, F could not be reserved."""
    return sum(line.rstrip().endswith(b": R") for line in data.splitlines())
