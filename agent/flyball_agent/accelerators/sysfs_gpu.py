"""GPUs that the kernel itself speaks for: DRM cards of one driver in sysfs, and the files that tell their readings."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from flyball_agent.accelerators import metrics as m
from flyball_agent.accelerators.metrics import Slot
from flyball_agent.probes.files import KernelFile, entries, number, read_number, read_text
from flyball_agent.probes.probe import Absent, Sample, Unavailable, Value
from flyball_proto.layout import Column
from flyball_proto.unavailable_reading import Reason, UnavailableReading
from flyball_proto.v1 import telemetry_pb2 as pb

LOOK_SECONDS = 10.0
"""How often cards are looked for; in between, a card that went away only falls silent."""

_LINK_GENERATION = {"2.5": 1, "5.0": 2, "8.0": 3, "16.0": 4, "32.0": 5, "64.0": 6}  # GT/s; PCI Express base spec

Parse = Callable[[bytes], Value]


def scaled(factor: float) -> Parse:
    """A file that holds one number."""

    def parse(data: bytes) -> Value:
        found = number(data)
        return None if found is None else found * factor

    return parse


def link_generation(data: bytes) -> Value:
    """`16.0 GT/s PCIe` is generation 4."""
    return _LINK_GENERATION.get(data.split(b" ")[0].decode("ascii", "replace"))


def active_clock(data: bytes) -> Value:
    """The line with the star of amdgpu's table of clocks: `1: 1700Mhz *`."""
    for line in data.splitlines():
        if line.endswith(b"*"):
            megahertz = number(line.partition(b":")[2].strip(b" *").lower().removesuffix(b"mhz"))
            return None if megahertz is None else megahertz * 1_000_000
    return None


@dataclass(frozen=True, slots=True)
class Source:
    """A reading and the file that tells it; the first of `paths` that is there, `*` for one numbered part."""

    slot: Slot
    paths: tuple[str, ...]
    parse: Parse
    fixed: bool = False


PCIE_SOURCES = (
    Source(Slot(m.PCIE_GENERATION), ("device/current_link_speed",), link_generation),
    Source(Slot(m.PCIE_WIDTH), ("device/current_link_width",), scaled(1)),
    Source(Slot(m.PCIE_GENERATION_MAX), ("device/max_link_speed",), link_generation, fixed=True),
    Source(Slot(m.PCIE_WIDTH_MAX), ("device/max_link_width",), scaled(1), fixed=True),
)


@dataclass(frozen=True, slots=True)
class Maker:
    """A vendor: how its cards are found and what they tell."""

    name: str
    vendor: str
    drivers: tuple[str, ...]
    sources: tuple[Source, ...]
    silent: Mapping[str, str] = field(default_factory=dict)


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
    """The accelerator of one such vendor; see `protocol.Accelerator`."""

    every_seconds = 0.0
    blocking = True

    def __init__(self, maker: Maker, sys_root: Path, monotonic: Callable[[], float]) -> None:
        self.name = maker.name
        self.metrics = tuple(dict.fromkeys(source.slot.metric for source in maker.sources))
        self._maker = maker
        self._cards_path = sys_root / "class/drm"
        self._monotonic = monotonic
        self._cards: list[_Card] = []
        self._columns: tuple[Column, ...] = ()
        self._unavailable: tuple[UnavailableReading, ...] = ()
        self._next_look = 0.0
        self._looked = False
        self._gpus: list[pb.Gpu] = []

    @property
    def processes(self) -> Sequence[pb.GpuProcess]:
        return ()

    def take_events(self) -> list[pb.HostEvent]:
        return []

    def describe(self) -> list[pb.Gpu]:
        return list(self._gpus)

    def read(self) -> Sample:
        """Read every card; a file that cannot be read says why."""
        if not self._looked or self._monotonic() >= self._next_look:
            self._look()
        if not self._cards:
            raise Absent(f"no GPU with the driver {' or '.join(self._maker.drivers)}")
        values: list[Value] = []
        changed = False
        for card in self._cards:
            changed |= self._read_card(card)
            values += card.values
        if changed:
            self._unavailable = tuple(self._explain())
        return Sample(self._columns, values, self._unavailable)

    def _look(self) -> None:
        self._looked, self._next_look = True, self._monotonic() + LOOK_SECONDS
        found = [
            (name, driver)
            for name in entries(self._cards_path)
            if name.removeprefix("card").isdecimal()
            and (driver := _driver(self._cards_path / name)) in self._maker.drivers
        ]
        if [name for name, _ in found] == [card.path.name for card in self._cards]:
            return
        self._cards = [self._open(index, name, driver) for index, (name, driver) in enumerate(found)]
        self._columns = tuple(
            Column(source.slot.metric, source.slot.labels(card.uuid, card.index))
            for card in self._cards
            for source in self._maker.sources
        )
        self._gpus = [self._describe_card(card) for card in self._cards]
        self._unavailable = tuple(self._explain())

    def _open(self, index: int, name: str, driver: str) -> _Card:
        path = self._cards_path / name
        files = [_find(path, source.paths) for source in self._maker.sources]
        card = _Card(path, index, _identity(path, self._maker.vendor), driver, files, [None] * len(files))
        for place, source in enumerate(self._maker.sources):
            if files[place] is None:
                card.faults[place] = Unavailable(f"{driver} has no {source.paths[0].rpartition('/')[2]}")
            elif source.fixed:
                self._read_place(card, place, source)
        return card

    def _read_card(self, card: _Card) -> bool:
        before = dict(card.faults)
        for place, source in enumerate(self._maker.sources):
            if not source.fixed and card.files[place] is not None:
                self._read_place(card, place, source)
        return [str(fault) for fault in before.values()] != [str(fault) for fault in card.faults.values()]

    def _read_place(self, card: _Card, place: int, source: Source) -> None:
        file = card.files[place]
        if file is None:
            return
        try:
            value = source.parse(file.read())
        except Unavailable as error:
            card.values[place], card.faults[place] = None, error
            return
        card.values[place] = value
        if value is None:
            card.faults[place] = Unavailable(f"{file.path.name} does not hold what it should")
        else:
            card.faults.pop(place, None)

    def _explain(self) -> list[UnavailableReading]:
        unavailable = []
        for card in self._cards:
            for place, fault in sorted(card.faults.items()):
                reason = Reason.UNSUPPORTED if card.files[place] is None else fault.reason
                metric = self._maker.sources[place].slot.metric.name
                unavailable.append(UnavailableReading(self.name, metric, card.uuid, reason, fault.detail, fault.remedy))
            for metric, detail in self._maker.silent.items():
                unavailable.append(UnavailableReading(self.name, metric, card.uuid, Reason.UNSUPPORTED, detail))
        return unavailable

    def _describe_card(self, card: _Card) -> pb.Gpu:
        device = card.path / "device"
        node = read_number(device / "numa_node")
        told = {source.slot.metric: card.values[place] for place, source in enumerate(self._maker.sources)}
        return pb.Gpu(
            uuid=card.uuid,
            index=card.index,
            vendor=self._maker.vendor,
            model=read_text(device / "product_name") or f"{self._maker.vendor} {_hex(device / 'device')}",
            memory_bytes=int(told.get(m.MEMORY_TOTAL) or 0),
            driver_version=card.driver,
            pci_address=_pci_address(device),
            numa_node=-1 if node is None else node,
            power_limit_watts=float(told.get(m.POWER_LIMIT) or 0),
            slowdown_temperature_celsius=float(told.get(m.SLOWDOWN_TEMPERATURE) or 0),
            pcie_generation_max=int(told.get(m.PCIE_GENERATION_MAX) or 0),
            pcie_width_max=int(told.get(m.PCIE_WIDTH_MAX) or 0),
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
    """The card's own number where it has one (amdgpu: `unique_id`), else its place on the bus."""
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
