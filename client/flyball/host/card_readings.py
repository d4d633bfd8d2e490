"""The newest readings of the accelerators of this machine, through the agent's probes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from flyball.host.places import HostPlaces
from flyball_agent.accelerators.amd import AmdProbe
from flyball_agent.accelerators.intel import IntelProbe
from flyball_agent.accelerators.nvidia import NvidiaProbe
from flyball_agent.accelerators.nvml import Nvml, NvmlError
from flyball_agent.probes.probe import Absent, ProbeSample, Unavailable
from flyball_proto.metric import Metric
from flyball_proto.v1 import telemetry_pb2 as pb

NVIDIA, AMD, INTEL = "nvidia", "amd", "intel"


@dataclass(frozen=True, slots=True)
class CardReadings:
    """One card with its values by metric and label, and the reasons of missing ones by metric."""

    card: pb.Gpu
    values: Mapping[tuple[str, str], float]
    reasons: Mapping[str, str]

    def value(self, metric: Metric, label: str = "") -> float | None:
        """Return the value of a metric; None if it is unknown."""
        return self.values.get((metric.name, label))

    def labels(self, metric: Metric) -> list[str]:
        """Return the labels under which a metric has a value other than zero."""
        return [label for (name, label), value in self.values.items() if name == metric.name and value]

    def total(self, *metrics: Metric) -> float | None:
        """Return the sum of all values of some metrics; None if all are unknown."""
        names = {metric.name for metric in metrics}
        known = [value for (name, _), value in self.values.items() if name in names]
        return sum(known) if known else None


@dataclass(frozen=True, slots=True)
class MachineCards:
    """All cards, the reasons why a vendor has none, and why a card of NVIDIA's driver cannot be read."""

    cards: tuple[CardReadings, ...] = ()
    absent: Mapping[str, str] = field(default_factory=dict)
    lost: Mapping[str, str] = field(default_factory=dict)
    cuda_version: str | None = None


class _CardProbe(Protocol):
    def read(self) -> ProbeSample: ...
    def describe(self) -> list[pb.Gpu]: ...


def read_cards(places: HostPlaces) -> MachineCards:
    """Read the cards of all vendors once. A driver may hang in it."""
    nvml = Nvml(places.nvml_library)
    found: list[CardReadings] = []
    absent: dict[str, str] = {}
    lost: dict[str, str] = {}
    probes: tuple[tuple[str, _CardProbe], ...] = (
        (NVIDIA, NvidiaProbe(nvml, places.sys, processes=False)),
        (AMD, AmdProbe(places.sys, proc_root=places.proc, processes=False)),
        (INTEL, IntelProbe(places.sys, proc_root=places.proc, processes=False)),
    )
    try:
        for name, probe in probes:
            try:
                sample = probe.read()
                found += _cards(sample, probe.describe())
                lost |= _lost(sample)
            except Unavailable as error:
                absent[name] = _absence(error)
        return MachineCards(tuple(found), absent, lost, cuda_version(nvml))
    finally:
        nvml.close()


def _lost(sample: ProbeSample) -> dict[str, str]:
    """Return the cards that the driver counts but cannot reach, by their number."""
    found = {}
    for missing in sample.unavailable:
        kind, _, number = missing.resource.partition(" ")
        if kind == "index":
            found[number] = f"{missing.detail}; {missing.remedy}" if missing.remedy else missing.detail
    return found


def _absence(error: Unavailable) -> str:
    """Return why a vendor has no card. What to do belongs to it only if there is a card that cannot be read."""
    detail = error.detail.removeprefix("dlopen: ")
    return detail if isinstance(error, Absent) or not error.remedy else f"{detail}; {error.remedy}"


def cuda_version(nvml: Nvml) -> str | None:
    """Return the newest version of CUDA that the driver supports, such as 12.8."""
    try:
        number = nvml.number("nvmlSystemGetCudaDriverVersion_v2") if nvml.is_open else 0
    except NvmlError:
        return None
    return f"{number // 1000}.{number % 1000 // 10}" if number else None


def link_width(sys_root: Path, address: str) -> int | None:
    """Return the lanes that a card has, whatever its slot has; the driver reports the fewer of both."""
    try:
        text = (sys_root / "bus/pci/devices" / address / "max_link_width").read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return None
    return int(text) if text.isdecimal() and 0 < int(text) <= 32 else None


def _cards(sample: ProbeSample, described: Sequence[pb.Gpu]) -> list[CardReadings]:
    values: dict[str, dict[tuple[str, str], float]] = {}
    for column, value in zip(sample.columns, sample.values, strict=True):
        if value is not None:
            label = column.labels[2] if len(column.labels) > 2 else ""
            values.setdefault(column.labels[0], {})[column.metric.name, label] = value
    reasons: dict[str, dict[str, str]] = {}
    for missing in sample.unavailable:
        of_card = reasons.setdefault(missing.resource.partition("/")[0], {})
        of_card.setdefault(missing.metric, missing.detail)
    return [CardReadings(card, values.get(card.uuid, {}), reasons.get(card.uuid, {})) for card in described]
