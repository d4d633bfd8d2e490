"""GPUs of one vendor, read from the files of their DRM cards in sysfs."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from flyball_agent.accelerators import metrics as m
from flyball_agent.accelerators.metrics import DeviceColumn
from flyball_agent.probes.files import KernelFile, entries, number, read_number, read_text
from flyball_agent.probes.probe import Absent, ProbeSample, Unavailable, Value
from flyball_proto.layout import Column
from flyball_proto.unavailable_reading import Reason, UnavailableReading
from flyball_proto.v1 import telemetry_pb2 as pb

SCAN_SECONDS = 10.0
"""Interval between two searches for cards. Until the next one, the readings of a removed card are unavailable."""

_LINK_GENERATION = {"2.5": 1, "5.0": 2, "8.0": 3, "16.0": 4, "32.0": 5, "64.0": 6}  # GT/s; PCI Express base spec

Parse = Callable[[bytes], Value]


def scaled(factor: float) -> Parse:
    """Return a parser of a file with one number, which is multiplied by `factor`."""

    def parse(data: bytes) -> Value:
        found = number(data)
        return None if found is None else found * factor

    return parse


def link_generation(data: bytes) -> Value:
    """Return the PCIe generation of a speed, such as 4 for `16.0 GT/s PCIe`."""
    return _LINK_GENERATION.get(data.split(b" ")[0].decode("ascii", "replace"))


def active_clock(data: bytes) -> Value:
    """Return the active clock from amdgpu's table of clocks, which marks it with a star: `1: 1700Mhz *`."""
    for line in data.splitlines():
        if line.endswith(b"*"):
            megahertz = number(line.partition(b":")[2].strip(b" *").lower().removesuffix(b"mhz"))
            return None if megahertz is None else megahertz * 1_000_000
    return None


@dataclass(frozen=True, slots=True)
class SysfsReading:
    """A column and the file with its value: the first of `paths` that exists. `*` matches a part with a number."""

    column: DeviceColumn
    paths: tuple[str, ...]
    parse: Parse
    fixed: bool = False


PCIE_READINGS = (
    SysfsReading(DeviceColumn(m.PCIE_GENERATION), ("device/current_link_speed",), link_generation),
    SysfsReading(DeviceColumn(m.PCIE_WIDTH), ("device/current_link_width",), scaled(1)),
    SysfsReading(DeviceColumn(m.PCIE_GENERATION_MAX), ("device/max_link_speed",), link_generation, fixed=True),
    SysfsReading(DeviceColumn(m.PCIE_WIDTH_MAX), ("device/max_link_width",), scaled(1), fixed=True),
)


@dataclass(frozen=True, slots=True)
class GpuVendor:
    """A vendor: the drivers of its cards, and the readings that they provide."""

    name: str
    vendor: str
    drivers: tuple[str, ...]
    readings: tuple[SysfsReading, ...]
    unsupported: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class _Card:
    path: Path
    index: int
    uuid: str
    driver: str
    files: list[KernelFile | None]
    values: list[Value]
    faults: dict[int, Unavailable] = field(default_factory=dict)


class SysfsProbe:
    """The accelerator of one such vendor; see `accelerator.Accelerator`."""

    every_seconds = 0.0
    blocking = True

    def __init__(self, vendor: GpuVendor, sys_root: Path, monotonic: Callable[[], float]) -> None:
        self.name = vendor.name
        self.metrics = tuple(dict.fromkeys(reading.column.metric for reading in vendor.readings))
        self._vendor = vendor
        self._cards_path = sys_root / "class/drm"
        self._monotonic = monotonic
        self._cards: list[_Card] = []
        self._columns: tuple[Column, ...] = ()
        self._unavailable: tuple[UnavailableReading, ...] = ()
        self._next_scan = 0.0
        self._scanned = False
        self._gpus: list[pb.Gpu] = []

    @property
    def processes(self) -> Sequence[pb.GpuProcess]:
        return ()

    def take_events(self) -> list[pb.HostEvent]:
        return []

    def describe(self) -> list[pb.Gpu]:
        return list(self._gpus)

    def read(self) -> ProbeSample:
        """Read every card. A file that cannot be read gives an unavailable reading."""
        if not self._scanned or self._monotonic() >= self._next_scan:
            self._scan()
        if not self._cards:
            raise Absent(f"no GPU with the driver {' or '.join(self._vendor.drivers)}")
        values: list[Value] = []
        changed = False
        for card in self._cards:
            changed |= self._read_card(card)
            values += card.values
        if changed:
            self._unavailable = tuple(self._explain())
        return ProbeSample(self._columns, values, self._unavailable)

    def _scan(self) -> None:
        self._scanned, self._next_scan = True, self._monotonic() + SCAN_SECONDS
        found = [
            (name, driver)
            for name in entries(self._cards_path)
            if name.removeprefix("card").isdecimal()
            and (driver := _driver(self._cards_path / name)) in self._vendor.drivers
        ]
        if [name for name, _ in found] == [card.path.name for card in self._cards]:
            return
        self._cards = [self._open(index, name, driver) for index, (name, driver) in enumerate(found)]
        self._columns = tuple(
            Column(reading.column.metric, reading.column.labels(card.uuid, card.index))
            for card in self._cards
            for reading in self._vendor.readings
        )
        self._gpus = [self._describe_card(card) for card in self._cards]
        self._unavailable = tuple(self._explain())

    def _open(self, index: int, name: str, driver: str) -> _Card:
        path = self._cards_path / name
        files = [_find(path, reading.paths) for reading in self._vendor.readings]
        card = _Card(path, index, _identity(path, self._vendor.vendor), driver, files, [None] * len(files))
        for position, reading in enumerate(self._vendor.readings):
            if files[position] is None:
                card.faults[position] = Unavailable(f"{driver} has no {reading.paths[0].rpartition('/')[2]}")
            elif reading.fixed:
                self._read_position(card, position, reading)
        return card

    def _read_card(self, card: _Card) -> bool:
        before = dict(card.faults)
        for position, reading in enumerate(self._vendor.readings):
            if not reading.fixed and card.files[position] is not None:
                self._read_position(card, position, reading)
        return [str(fault) for fault in before.values()] != [str(fault) for fault in card.faults.values()]

    def _read_position(self, card: _Card, position: int, reading: SysfsReading) -> None:
        file = card.files[position]
        if file is None:
            return
        try:
            value = reading.parse(file.read())
        except Unavailable as error:
            card.values[position], card.faults[position] = None, error
            return
        card.values[position] = value
        if value is None:
            card.faults[position] = Unavailable(f"{file.path.name} has unexpected content")
        else:
            card.faults.pop(position, None)

    def _explain(self) -> list[UnavailableReading]:
        unavailable = []
        for card in self._cards:
            for position, fault in sorted(card.faults.items()):
                reason = Reason.UNSUPPORTED if card.files[position] is None else fault.reason
                metric = self._vendor.readings[position].column.metric.name
                unavailable.append(UnavailableReading(self.name, metric, card.uuid, reason, fault.detail, fault.remedy))
            for metric, detail in self._vendor.unsupported.items():
                unavailable.append(UnavailableReading(self.name, metric, card.uuid, Reason.UNSUPPORTED, detail))
        return unavailable

    def _describe_card(self, card: _Card) -> pb.Gpu:
        device = card.path / "device"
        node = read_number(device / "numa_node")
        values = {
            reading.column.metric: card.values[position] for position, reading in enumerate(self._vendor.readings)
        }
        return pb.Gpu(
            uuid=card.uuid,
            index=card.index,
            vendor=self._vendor.vendor,
            model=read_text(device / "product_name") or f"{self._vendor.vendor} {_hex(device / 'device')}",
            memory_bytes=int(values.get(m.MEMORY_TOTAL) or 0),
            driver_version=card.driver,
            pci_address=_pci_address(device),
            numa_node=-1 if node is None else node,
            power_limit_watts=float(values.get(m.POWER_LIMIT) or 0),
            slowdown_temperature_celsius=float(values.get(m.SLOWDOWN_TEMPERATURE) or 0),
            pcie_generation_max=int(values.get(m.PCIE_GENERATION_MAX) or 0),
            pcie_width_max=int(values.get(m.PCIE_WIDTH_MAX) or 0),
        )


def _find(card: Path, paths: Sequence[str]) -> KernelFile | None:
    for pattern in paths:
        found = sorted(card.glob(pattern)) if "*" in pattern else [card / pattern]
        if found and found[0].exists():
            return KernelFile(found[0])
    return None


def _driver(card: Path) -> str:
    link = card / "device/driver"
    return link.resolve().name if link.exists() else ""


def _identity(card: Path, vendor: str) -> str:
    """Return the card's unique id if it has one (amdgpu: `unique_id`), else its address on the bus."""
    unique = read_text(card / "device/unique_id")
    return f"{vendor.upper()}-{unique}" if unique else f"{vendor.upper()}-{_pci_address(card / 'device')}"


def _pci_address(device: Path) -> str:
    for line in (read_text(device / "uevent") or "").splitlines():
        key, _, value = line.partition("=")
        if key == "PCI_SLOT_NAME":
            return value
    return device.resolve().name


def _hex(path: Path) -> str:
    return read_text(path) or "unknown model"
