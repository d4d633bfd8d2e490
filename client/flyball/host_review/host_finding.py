"""Findings of a review: warnings, and suggestions with their reason and expected effect."""

from enum import StrEnum

from msgspec import Struct

from flyball.host.hardware_profile import HardwareProfile
from flyball.host_review.cooling import CoolingRisk
from flyball.host_review.power_budget import PowerBudget
from flyball_planner.configurations.configuration import Configuration

DISK_NAMES = {"nvme": "an NVMe disk", "ssd": "an SSD", "hdd": "a hard disk", "network": "a network file system"}


class FindingKind(StrEnum):
    """A danger for a training, or a change that makes it faster."""

    WARNING = "warning"
    SUGGESTION = "suggestion"


class HostFinding(Struct, frozen=True):
    """One warning or suggestion."""

    id: str
    kind: FindingKind
    rank: int  # 3: stops trainings or loses data, 2: costs much, 1: costs little
    fact: str
    because: str  # the evidence
    action: str
    effect: str = ""
    command: str = ""


class Surroundings(Struct, frozen=True):
    """Other facts about this machine that matter; unknown values are empty."""

    scaling_driver: str = ""  # of the processor's clock: intel_pstate, amd-pstate-epp, acpi-cpufreq …
    energy_preference: str = ""  # performance, balance_performance, balance_power, power
    databases: tuple[str, ...] = ()  # servers that run on this machine, such as mongod


class HostSituation(Struct, frozen=True):
    """All that the rules look at."""

    profile: HardwareProfile
    power: PowerBudget
    cooling: CoolingRisk
    configurations: tuple[Configuration, ...] = ()
    surroundings: Surroundings = Surroundings()


def warning(id_: str, rank: int, fact: str, because: str, action: str, **more: str) -> HostFinding:
    """Return a warning."""
    return HostFinding(id_, FindingKind.WARNING, rank, fact, because, action, **more)


def suggestion(id_: str, rank: int, fact: str, because: str, action: str, **more: str) -> HostFinding:
    """Return a suggestion."""
    return HostFinding(id_, FindingKind.SUGGESTION, rank, fact, because, action, **more)
