"""GPUs of one vendor, read from the files of their DRM cards in sysfs."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from flyball_agent.accelerators import metrics as m
from flyball_agent.accelerators.card_reader import CardReader, OpenReader, Result
from flyball_agent.accelerators.device_use import DeviceUse, ProcessSource, total_memory, total_utilization, united
from flyball_agent.accelerators.metrics import DeviceColumn
from flyball_agent.accelerators.pci_models import model_name
from flyball_agent.probes.files import entries, read_number, read_text
from flyball_agent.probes.probe import Absent, ProbeSample, Unavailable, Unsupported, Value
from flyball_proto.layout import Column
from flyball_proto.metric import Metric
from flyball_proto.unavailable_reading import Reason, UnavailableReading
from flyball_proto.v1 import telemetry_pb2 as pb

SCAN_SECONDS = 10.0
"""Interval between two searches for cards. Until the next one, the readings of a removed card are unavailable."""

_WITHOUT_PROCESSES = Unsupported("it is the sum over processes, and the setting probes.processes is off")
_FIRST_READING = Unavailable("the first reading has no earlier one to compare with")
_NO_MEMORY = Unsupported("the driver reports no device memory of processes")


@dataclass(frozen=True, slots=True)
class GpuVendor:
    """A vendor: the drivers of its cards, and the readers of their columns.

    `by_processes` are the metrics that the drivers provide only for each process: utilisation and memory.
    """

    name: str
    drivers: tuple[str, ...]
    readers: tuple[OpenReader, ...]
    by_processes: tuple[Metric, ...] = ()
    unsupported: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class _Card:
    path: Path
    index: int
    uuid: str
    driver: str
    address: str
    readers: list[CardReader]
    columns: list[DeviceColumn]
    results: list[Result]

    def value(self, metric: Metric) -> Value:
        """Return the newest value of a metric."""
        result = (
            self.results[self.columns.index(DeviceColumn(metric))] if DeviceColumn(metric) in self.columns else None
        )
        return None if isinstance(result, Unavailable) else result


class SysfsProbe:
    """The accelerator of one vendor's GPUs; see `accelerator.Accelerator`."""

    every_seconds = 0.0
    blocking = True
    metrics: Sequence[Metric]

    def __init__(
        self,
        vendor: GpuVendor,
        sys_root: Path,
        monotonic: Callable[[], float],
        process_sources: Sequence[ProcessSource] = (),
    ) -> None:
        self.name = vendor.name
        self._vendor = vendor
        self._cards_path = sys_root / "class/drm"
        self._monotonic = monotonic
        self._process_sources = process_sources
        self._cards: list[_Card] = []
        self._columns: tuple[Column, ...] = ()
        self._faults: list[tuple[str, str]] = []
        self._unavailable: tuple[UnavailableReading, ...] = ()
        self._next_scan = 0.0
        self._scanned = False
        self._fresh = False
        self._processes: list[pb.GpuProcess] = []
        self._gpus: list[pb.Gpu] = []

    @property
    def processes(self) -> Sequence[pb.GpuProcess]:
        """The processes. While a reading hangs, they are those of the last reading, without amounts."""
        if self._fresh:
            return self._processes
        return [pb.GpuProcess(gpu=process.gpu, pid=process.pid) for process in self._processes]

    def take_events(self) -> list[pb.HostEvent]:
        return []

    def describe(self) -> list[pb.Gpu]:
        return list(self._gpus)

    def read(self) -> ProbeSample:
        """Read every card. A file that cannot be read gives an unavailable reading."""
        now = self._monotonic()
        self._fresh = False
        if not self._scanned or now >= self._next_scan:
            self._scan(now)
        if not self._cards:
            self._processes = []
            raise Absent(f"no GPU with the driver {' or '.join(self._vendor.drivers)}")
        uses = united(use for source in self._process_sources for use in source.read(now))
        for card in self._cards:
            self._read_card(card, now, [use for use in uses if use.address == card.address])
        uuids = {card.address: card.uuid for card in self._cards}
        self._processes = [_process(uuids[use.address], use) for use in uses if use.address in uuids]
        if not self._gpus:
            self._gpus = [self._describe_card(card) for card in self._cards]
        self._update_unavailable()
        self._fresh = True
        results = [result for card in self._cards for result in card.results]
        values = [None if isinstance(result, Unavailable) else result for result in results]
        return ProbeSample(self._columns, values, self._unavailable)

    def _scan(self, now: float) -> None:
        self._scanned, self._next_scan = True, now + SCAN_SECONDS
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
            Column(column.metric, column.labels(card.uuid, card.index))
            for card in self._cards
            for column in card.columns
        )
        self._gpus = []

    def _open(self, index: int, name: str, driver: str) -> _Card:
        path = self._cards_path / name
        readers = [open_reader(path, driver) for open_reader in self._vendor.readers]
        columns = [column for reader in readers for column in reader.columns]
        columns += [DeviceColumn(metric) for metric in self._vendor.by_processes]
        address = pci_address(path / "device")
        return _Card(path, index, _identity(path, self.name), driver, address, readers, columns, [])

    def _read_card(self, card: _Card, now: float, uses: Sequence[DeviceUse]) -> None:
        card.results = [result for reader in card.readers for result in reader.read(now)]
        card.results += [self._by_processes(metric, uses) for metric in self._vendor.by_processes]

    def _by_processes(self, metric: Metric, uses: Sequence[DeviceUse]) -> Result:
        """Return a value of a card from its processes. It is unknown as long as some of them may be missing."""
        if not self._process_sources:
            return _WITHOUT_PROCESSES
        fault = next((source.fault for source in self._process_sources if source.fault is not None), None)
        if fault is not None:
            return fault
        value: Value = total_utilization(uses) if metric is m.UTILIZATION else total_memory(uses)
        if value is not None:
            return value
        return _FIRST_READING if metric is m.UTILIZATION else _NO_MEMORY

    def _update_unavailable(self) -> None:
        """Build the list of unavailable readings again if a reason has changed."""
        faults = [("", str(source.fault)) for source in self._process_sources if source.fault is not None]
        for card in self._cards:
            faults += [
                (f"{card.uuid} {position}", str(result))
                for position, result in enumerate(card.results)
                if isinstance(result, Unavailable)
            ]
        if faults != self._faults or not self._unavailable:
            self._faults, self._unavailable = faults, tuple(self._explain())

    def _explain(self) -> list[UnavailableReading]:
        unavailable = []
        for card in self._cards:
            unavailable += [
                self._unavailable_reading("gpu_processes", card.uuid, source.fault)
                for source in self._process_sources
                if source.fault is not None
            ]
            unavailable += self._explain_card(card)
            for metric, detail in self._vendor.unsupported.items():
                unavailable.append(UnavailableReading(self.name, metric, card.uuid, Reason.UNSUPPORTED, detail))
        return unavailable

    def _explain_card(self, card: _Card) -> list[UnavailableReading]:
        """Return a card's unavailable readings. The resource `uuid/label` is one of a metric's several readings."""
        pairs = list(zip(card.columns, card.results, strict=True))
        known = {column.metric for column, result in pairs if not isinstance(result, Unavailable)}
        found: dict[tuple[str, str], UnavailableReading] = {}
        for column, result in pairs:
            if isinstance(result, Unavailable):
                single = column.label and column.metric in known
                resource = f"{card.uuid}/{column.label}" if single else card.uuid
                key = (column.metric.name, resource)
                found.setdefault(key, self._unavailable_reading(*key, result))
        return list(found.values())

    def _unavailable_reading(self, metric: str, resource: str, fault: Unavailable) -> UnavailableReading:
        return UnavailableReading(self.name, metric, resource, fault.reason, fault.detail, fault.remedy)

    def _describe_card(self, card: _Card) -> pb.Gpu:
        device = card.path / "device"
        node = read_number(device / "numa_node")
        return pb.Gpu(
            uuid=card.uuid,
            index=card.index,
            vendor=self.name,
            model=model_name(device),
            memory_bytes=int(card.value(m.MEMORY_TOTAL) or 0),
            driver_version=card.driver,
            pci_address=card.address,
            numa_node=-1 if node is None else node,
            power_limit_watts=float(card.value(m.POWER_LIMIT) or 0),
            slowdown_temperature_celsius=float(card.value(m.SLOWDOWN_TEMPERATURE) or 0),
            pcie_generation_max=int(card.value(m.PCIE_GENERATION_MAX) or 0),
            pcie_width_max=int(card.value(m.PCIE_WIDTH_MAX) or 0),
        )


def _process(uuid: str, use: DeviceUse) -> pb.GpuProcess:
    return pb.GpuProcess(gpu=uuid, pid=use.pid, memory_used_bytes=use.memory_bytes, utilization_ratio=use.utilization)


def _driver(card: Path) -> str:
    link = card / "device/driver"
    return link.resolve().name if link.exists() else ""


def _identity(card: Path, vendor: str) -> str:
    """Return the card's unique id if it has one (amdgpu: `unique_id`), else its address on the bus."""
    unique = read_text(card / "device/unique_id")
    return f"{vendor.upper()}-{unique}" if unique else f"{vendor.upper()}-{pci_address(card / 'device')}"


def pci_address(device: Path) -> str:
    """Return the address of a device on the bus, such as `0000:c1:00.0`."""
    for line in (read_text(device / "uevent") or "").splitlines():
        key, _, value = line.partition("=")
        if key == "PCI_SLOT_NAME":
            return value.lower()
    return device.resolve().name
